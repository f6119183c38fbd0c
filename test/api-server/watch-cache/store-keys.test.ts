/** Where objects lie in the store: upstream's layout. */
import { expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import {
  earlierKey,
  keysBelow,
  splitStoreKey,
  storeKey,
} from '../../../components/api-server/watch-cache/store-keys.ts'

/** What a kube-apiserver 1.32 has below its prefix with every API switched on. */
const folders = `
apiextensions.k8s.io/customresourcedefinitions apiregistration.k8s.io/apiservices certificatesigningrequests clusterrolebindings
clusterroles clustertrustbundles configmaps controllerrevisions controllers cronjobs csidrivers csinodes csistoragecapacities
daemonsets deployments deviceclasses endpointslices events flowschemas horizontalpodautoscalers ingress ingressclasses ipaddresses
jobs leasecandidates leases limitranges minions mutatingadmissionpolicies mutatingadmissionpolicybindings
mutatingwebhookconfigurations namespaces networkpolicies persistentvolumeclaims persistentvolumes poddisruptionbudgets pods
podtemplates priorityclasses prioritylevelconfigurations replicasets resourceclaims resourceclaimtemplates resourcequotas
resourceslices rolebindings roles runtimeclasses secrets serviceaccounts servicecidrs services/endpoints services/specs statefulsets
storageclasses storageversionmigrations storageversions validatingadmissionpolicies validatingadmissionpolicybindings
validatingwebhookconfigurations volumeattachments volumeattributesclasses`

const stored = resourcesOf(dialects.kubernetes).all.filter(({ virtual }) => !virtual)

it('every built-in kind lies where a kube-apiserver keeps it', () => {
  const found = new Set(stored.map((resource) => storeKey(resource, 'a')))
  expect([...found].toSorted()).toEqual(
    folders
      .trim()
      .split(/\s+/)
      .map((folder) => `/registry/${folder}/a`)
      .toSorted(),
  )
})

it.each(Object.values(dialects))(
  'keys say what they belong to, in the dialect $name',
  (dialect) => {
    for (const resource of resourcesOf(dialect).all) {
      if (resource.virtual) continue
      for (const key of ['name', 'namespace/name']) {
        const place = splitStoreKey(storeKey(resource, key))
        expect(place).toEqual({ prefix: resource.storagePrefix, key })
      }
    }
    expect(splitStoreKey('/registry/example.com/things/a/b')).toEqual({
      prefix: 'example.com/things',
      key: 'a/b',
    })
  },
)

it.each([
  'masterleases/10.0.0.1',
  'ranges/serviceips',
  'ranges/servicenodeports',
  'services/others/a/b',
  'podsecuritypolicy/a',
  'continue-token-key',
  'pods',
  'example.com/things',
])('%s is no object', (rest) => {
  expect(splitStoreKey(`/registry/${rest}`)).toBeUndefined()
})

it('the prefix of the flag stands in the place of /registry', () => {
  for (const prefix of ['/other/place', 'other/place/', '//other//place'])
    expect(keysBelow(prefix)('/registry/pods/a/b')).toBe('/other/place/pods/a/b')
  expect(keysBelow('/')('/registry/pods/a/b')).toBe('/pods/a/b')
})

it('knows the key that an earlier release gave an object', () => {
  expect(earlierKey('/registry/minions/a')).toBe('/registry/core/nodes/a')
  expect(earlierKey('/registry/example.com/things/a/b')).toBe('/registry/example.com/things/a/b')
})
