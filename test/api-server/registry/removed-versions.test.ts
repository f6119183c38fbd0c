/** Versions that releases up to 1.32 removed: their paths are gone, and what replaced them serves. */
import { describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

/** Group stem, version and plural; `*` before the plural for namespaced kinds. */
type Place = readonly [stem: string, version: string, plural: string]

interface Removal {
  readonly title: string
  readonly removed: readonly Place[]
  readonly served: readonly Place[]
}

const row = (
  title: string,
  places: Pick<Removal, 'removed' | 'served'>,
): readonly [string, Removal] => [title, { title, ...places }]

const places = (stem: string, version: string, plurals: string): Place[] =>
  plurals.split(' ').map((plural) => [stem, version, plural])

const workloads = '*/daemonsets */deployments */statefulsets */replicasets'
const roles = '*/roles */rolebindings clusterroles clusterrolebindings'
const flow = 'flowschemas prioritylevelconfigurations'
const webhooks = 'mutatingwebhookconfigurations validatingwebhookconfigurations'
const classes = 'storageclasses csidrivers csinodes volumeattachments'

const removals = [
  row('[VER-064] release 1.32 serves flowcontrol v1 and no v1beta3', {
    removed: places('flowcontrol.apiserver', 'v1beta3', flow),
    served: places('flowcontrol.apiserver', 'v1', flow),
  }),
  row('[VER-065] flowcontrol v1beta2 went with 1.29', {
    removed: places('flowcontrol.apiserver', 'v1beta2', flow),
    served: places('flowcontrol.apiserver', 'v1', flow),
  }),
  row('[VER-069] CSIStorageCapacity v1beta1 went with 1.27', {
    removed: places('storage', 'v1beta1', '*/csistoragecapacities'),
    served: places('storage', 'v1', '*/csistoragecapacities'),
  }),
  row('[VER-070] flowcontrol v1beta1 went with 1.26', {
    removed: [
      ...places('flowcontrol.apiserver', 'v1beta1', flow),
      // What replaced it went, too.
      ...places('flowcontrol.apiserver', 'v1beta2', flow),
    ],
    served: places('flowcontrol.apiserver', 'v1', flow),
  }),
  row('[VER-071] autoscaling v2beta2 went with 1.26', {
    removed: places('autoscaling', 'v2beta2', '*/horizontalpodautoscalers'),
    served: places('autoscaling', 'v2', '*/horizontalpodautoscalers'),
  }),
  row('[VER-072] CronJob v1beta1 went with 1.25', {
    removed: places('batch', 'v1beta1', '*/cronjobs'),
    served: places('batch', 'v1', '*/cronjobs'),
  }),
  row('[VER-073] EndpointSlice v1beta1 went with 1.25', {
    removed: places('discovery', 'v1beta1', '*/endpointslices'),
    served: places('discovery', 'v1', '*/endpointslices'),
  }),
  row('[VER-076] events v1beta1 went with 1.25', {
    removed: places('events', 'v1beta1', '*/events'),
    served: places('events', 'v1', '*/events'),
  }),
  row('[VER-077] autoscaling v2beta1 went with 1.25', {
    removed: places('autoscaling', 'v2beta1', '*/horizontalpodautoscalers'),
    served: places('autoscaling', 'v2', '*/horizontalpodautoscalers'),
  }),
  row('[VER-078] PodDisruptionBudget v1beta1 went with 1.25', {
    removed: places('policy', 'v1beta1', '*/poddisruptionbudgets'),
    served: places('policy', 'v1', '*/poddisruptionbudgets'),
  }),
  row('[VER-081] RuntimeClass v1beta1 went with 1.25', {
    removed: places('node', 'v1beta1', 'runtimeclasses'),
    served: places('node', 'v1', 'runtimeclasses'),
  }),
  row('[VER-082] webhook configurations v1beta1 went with 1.22', {
    removed: places('admissionregistration', 'v1beta1', webhooks),
    served: places('admissionregistration', 'v1', webhooks),
  }),
  row('[VER-086] CustomResourceDefinition v1beta1 went with 1.22', {
    removed: places('apiextensions', 'v1beta1', 'customresourcedefinitions'),
    served: places('apiextensions', 'v1', 'customresourcedefinitions'),
  }),
  row('[VER-093] APIService, Lease, RBAC, PriorityClass and storage v1beta1 went with 1.22', {
    removed: [
      ...places('apiregistration', 'v1beta1', 'apiservices'),
      ...places('coordination', 'v1beta1', '*/leases'),
      ...places('rbac.authorization', 'v1beta1', roles),
      ...places('scheduling', 'v1beta1', 'priorityclasses'),
      ...places('storage', 'v1beta1', classes),
    ],
    served: [
      ...places('apiregistration', 'v1', 'apiservices'),
      ...places('coordination', 'v1', '*/leases'),
      ...places('rbac.authorization', 'v1', roles),
      ...places('scheduling', 'v1', 'priorityclasses'),
      ...places('storage', 'v1', classes),
    ],
  }),
  row('[VER-097] CertificateSigningRequest v1beta1 went with 1.22', {
    removed: places('certificates', 'v1beta1', 'certificatesigningrequests'),
    served: places('certificates', 'v1', 'certificatesigningrequests'),
  }),
  row('[VER-101] Ingress and IngressClass v1beta1 went with 1.22', {
    removed: [
      ...places('networking', 'v1beta1', '*/ingresses ingressclasses'),
      ...places('extensions', 'v1beta1', '*/ingresses'),
    ],
    served: places('networking', 'v1', '*/ingresses ingressclasses'),
  }),
  row('[VER-105] NetworkPolicy of extensions went with 1.16', {
    removed: places('extensions', 'v1beta1', '*/networkpolicies'),
    served: places('networking', 'v1', '*/networkpolicies'),
  }),
  row('[VER-106] workloads are in apps/v1 alone since 1.16', {
    removed: [
      ...places('extensions', 'v1beta1', '*/daemonsets */deployments */replicasets'),
      ...places('apps', 'v1beta1', workloads),
      ...places('apps', 'v1beta2', workloads),
    ],
    served: places('apps', 'v1', workloads),
  }),
  row('[VER-107] PodSecurityPolicy went from extensions with 1.16 and from policy with 1.25', {
    removed: [
      ...places('extensions', 'v1beta1', 'podsecuritypolicies'),
      ...places('policy', 'v1beta1', 'podsecuritypolicies'),
    ],
    served: [],
  }),
]

describeDialects('removed versions', (server) => {
  const root = ([stem, version]: Place): string =>
    `/apis/${stem === 'extensions' ? stem : server().group(stem)}/${version}`

  it.each(removals)('%s', async (_title, { removed, served }) => {
    for (const place of removed) {
      const [, , plural] = place
      for (const path of [plural.replace('*/', ''), plural.replace('*', 'namespaces/default')]) {
        const url = `${root(place)}/${path}`
        expect((await server().request('GET', url)).status, url).toBe(404)
        expect((await server().request('GET', `${url}/a`)).status, url).toBe(404)
        expect((await server().request('POST', url, { body: {} })).status, url).toBe(404)
      }
    }
    for (const place of served) {
      const plural = place[2].replace('*/', '')
      const list = await server().ok('GET', `${root(place)}/${plural}`)
      expect(list.apiVersion, plural).toBe(root(place).slice('/apis/'.length))
      const { resources } = await server().ok('GET', root(place))
      expect(resources.map(({ name }: { name: string }) => name)).toContain(plural)
    }
  })

  const review = { spec: { token: 'x' } }
  const access = { spec: { user: 'u', resourceAttributes: { verb: 'get', resource: 'pods' } } }

  it('[VER-094] TokenReview is answered in v1 and not in v1beta1', async () => {
    const group = `/apis/${server().group('authentication')}`
    const old = await server().request('POST', `${group}/v1beta1/tokenreviews`, { body: review })
    expect(old.status).toBe(404)
    const answer = await server().ok('POST', `${group}/v1/tokenreviews`, { body: review })
    expect(answer.status.authenticated ?? false).toBe(false)
  })

  it('[VER-095] access reviews are answered in v1 and not in v1beta1', async () => {
    const group = `/apis/${server().group('authorization')}`
    for (const [path, body] of [
      ['subjectaccessreviews', access],
      [
        'selfsubjectaccessreviews',
        { spec: { resourceAttributes: access.spec.resourceAttributes } },
      ],
      ['selfsubjectrulesreviews', { spec: { namespace: 'default' } }],
      [
        'namespaces/default/localsubjectaccessreviews',
        { spec: { user: 'u', resourceAttributes: { verb: 'get', namespace: 'default' } } },
      ],
    ] as const) {
      const old = await server().request('POST', `${group}/v1beta1/${path}`, { body })
      expect(old.status, path).toBe(404)
      expect(await server().ok('POST', `${group}/v1/${path}`, { body }), path).toHaveProperty(
        'status',
      )
    }
  })
})

describe('PodSecurityPolicy', () => {
  it('is no type, and its admission plugin has no name any more', async () => {
    await using server = await startApiServer()
    const { groups } = await server.ok('GET', '/apis')
    const versions = groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
      group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    )
    for (const path of ['/api/v1', ...versions]) {
      const { resources } = await server.ok('GET', path)
      expect(JSON.stringify(resources)).not.toContain('podsecuritypolic')
    }
    const flags = ['--enable-admission-plugins=PodSecurityPolicy']
    await expect(startApiServer({ flags })).rejects.toThrow(/PodSecurityPolicy.*unknown/)
  })
})

describe('the table of removals', () => {
  it('has each row once', () => {
    const titles = removals.map(([title]) => title)
    expect(new Set(titles).size).toBe(titles.length)
  })
})
