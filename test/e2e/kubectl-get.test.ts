/** kubectl get: every kind there is, in every output format, with the columns that kubectl users know. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()
const fixture = readFileSync(join(import.meta.dirname, 'every-kind.yaml'), 'utf8')

/** Resource -> the header of `kubectl get`, and what `-o wide` adds at its end ('' : nothing; '*': its own header). */
const headers: Record<string, [header: string, wide: string]> = {
  componentstatuses: ['NAME STATUS MESSAGE ERROR', ''],
  configmaps: ['NAME DATA AGE', ''],
  endpoints: ['NAME ENDPOINTS AGE', ''],
  events: [
    'LAST SEEN,TYPE,REASON,OBJECT,MESSAGE',
    '*LAST SEEN,TYPE,REASON,OBJECT,SUBOBJECT,SOURCE,MESSAGE,FIRST SEEN,COUNT,NAME',
  ],
  limitranges: ['NAME,CREATED AT', ''],
  namespaces: ['NAME STATUS AGE', ''],
  nodes: [
    'NAME STATUS ROLES AGE VERSION',
    'INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME',
  ],
  persistentvolumeclaims: [
    'NAME,STATUS,VOLUME,CAPACITY,ACCESS MODES,STORAGECLASS,VOLUMEATTRIBUTESCLASS,AGE',
    'VOLUMEMODE',
  ],
  persistentvolumes: [
    'NAME,CAPACITY,ACCESS MODES,RECLAIM POLICY,STATUS,CLAIM,STORAGECLASS,VOLUMEATTRIBUTESCLASS,REASON,AGE',
    'VOLUMEMODE',
  ],
  pods: ['NAME READY STATUS RESTARTS AGE', 'IP,NODE,NOMINATED NODE,READINESS GATES'],
  podtemplates: ['NAME,CONTAINERS,IMAGES,POD LABELS', ''],
  replicationcontrollers: ['NAME DESIRED CURRENT READY AGE', 'CONTAINERS IMAGES SELECTOR'],
  resourcequotas: ['NAME REQUEST LIMIT AGE', ''],
  secrets: ['NAME TYPE DATA AGE', ''],
  serviceaccounts: ['NAME SECRETS AGE', ''],
  services: ['NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE', 'SELECTOR'],
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': ['NAME WEBHOOKS AGE', ''],
  'validatingadmissionpolicies.admissionregistration.k8s.io': [
    'NAME VALIDATIONS PARAMKIND AGE',
    '',
  ],
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': [
    'NAME POLICYNAME PARAMREF AGE',
    '',
  ],
  'validatingwebhookconfigurations.admissionregistration.k8s.io': ['NAME WEBHOOKS AGE', ''],
  'customresourcedefinitions.apiextensions.k8s.io': ['NAME,CREATED AT', ''],
  'apiservices.apiregistration.k8s.io': ['NAME SERVICE AVAILABLE AGE', ''],
  'controllerrevisions.apps': ['NAME CONTROLLER REVISION AGE', ''],
  'daemonsets.apps': [
    'NAME,DESIRED,CURRENT,READY,UP-TO-DATE,AVAILABLE,NODE SELECTOR,AGE',
    'CONTAINERS IMAGES SELECTOR',
  ],
  'deployments.apps': ['NAME READY UP-TO-DATE AVAILABLE AGE', 'CONTAINERS IMAGES SELECTOR'],
  'replicasets.apps': ['NAME DESIRED CURRENT READY AGE', 'CONTAINERS IMAGES SELECTOR'],
  'statefulsets.apps': ['NAME READY AGE', 'CONTAINERS IMAGES'],
  'horizontalpodautoscalers.autoscaling': [
    'NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE',
    '',
  ],
  'cronjobs.batch': [
    'NAME,SCHEDULE,TIMEZONE,SUSPEND,ACTIVE,LAST SCHEDULE,AGE',
    'CONTAINERS IMAGES SELECTOR',
  ],
  'jobs.batch': ['NAME STATUS COMPLETIONS DURATION AGE', 'CONTAINERS IMAGES SELECTOR'],
  'certificatesigningrequests.certificates.k8s.io': [
    'NAME AGE SIGNERNAME REQUESTOR REQUESTEDDURATION CONDITION',
    '',
  ],
  'leases.coordination.k8s.io': ['NAME HOLDER AGE', ''],
  'endpointslices.discovery.k8s.io': ['NAME ADDRESSTYPE PORTS ENDPOINTS AGE', ''],
  'events.events.k8s.io': [
    'LAST SEEN,TYPE,REASON,OBJECT,MESSAGE',
    '*LAST SEEN,TYPE,REASON,OBJECT,SUBOBJECT,SOURCE,MESSAGE,FIRST SEEN,COUNT,NAME',
  ],
  'flowschemas.flowcontrol.apiserver.k8s.io': [
    'NAME PRIORITYLEVEL MATCHINGPRECEDENCE DISTINGUISHERMETHOD AGE MISSINGPL',
    '',
  ],
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io': [
    'NAME TYPE NOMINALCONCURRENCYSHARES QUEUES HANDSIZE QUEUELENGTHLIMIT AGE',
    '',
  ],
  'ingressclasses.networking.k8s.io': ['NAME CONTROLLER PARAMETERS AGE', ''],
  'ingresses.networking.k8s.io': ['NAME CLASS HOSTS ADDRESS PORTS AGE', ''],
  'networkpolicies.networking.k8s.io': ['NAME POD-SELECTOR AGE', ''],
  'runtimeclasses.node.k8s.io': ['NAME HANDLER AGE', ''],
  'poddisruptionbudgets.policy': ['NAME,MIN AVAILABLE,MAX UNAVAILABLE,ALLOWED DISRUPTIONS,AGE', ''],
  'clusterrolebindings.rbac.authorization.k8s.io': [
    'NAME ROLE AGE',
    'USERS GROUPS SERVICEACCOUNTS',
  ],
  'clusterroles.rbac.authorization.k8s.io': ['NAME,CREATED AT', ''],
  'rolebindings.rbac.authorization.k8s.io': ['NAME ROLE AGE', 'USERS GROUPS SERVICEACCOUNTS'],
  'roles.rbac.authorization.k8s.io': ['NAME,CREATED AT', ''],
  'priorityclasses.scheduling.k8s.io': ['NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY', ''],
  'csidrivers.storage.k8s.io': [
    'NAME ATTACHREQUIRED PODINFOONMOUNT STORAGECAPACITY TOKENREQUESTS REQUIRESREPUBLISH MODES AGE',
    '',
  ],
  'csinodes.storage.k8s.io': ['NAME DRIVERS AGE', ''],
  'csistoragecapacities.storage.k8s.io': ['NAME STORAGECLASSNAME CAPACITY', ''],
  'storageclasses.storage.k8s.io': [
    'NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE',
    '',
  ],
  'volumeattachments.storage.k8s.io': ['NAME ATTACHER PV NODE ATTACHED AGE', ''],
}

const resources = Object.keys(headers)
const all = resources.join(',')

function columnsOf(text: string): string[] {
  return text.split(text.includes(',') ? ',' : ' ').filter((column) => column !== '')
}

/** The blocks that `kubectl get a,b` prints: one table for each resource, in order. */
function blocksOf(text: string): string[] {
  return text.split(/\n\n/)
}

interface Item {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; uid?: string; resourceVersion?: string }
}

const made = fixture
  .split(/^---$/m)
  .map((text) => load(text) as Item)
  .map(({ kind, metadata }) => ({ kind, name: metadata.name }))

describe('with an object of every kind', () => {
  let kubectl: Kubectl

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace: 'every-kind' })
    const created = await kubectl.withInput(fixture).ok`create -f -`
    expect(created.split('\n')).toHaveLength(made.length)
    await kubectl.ok`wait --for=condition=Ready pod/one --timeout=60s`
    await eventually(async () => {
      const slices = await kubectl.ok`get endpointslices,endpoints -o name`
      expect(slices).toMatch(/^endpointslice.discovery.k8s.io\/one-/m)
      expect(slices).toMatch(/^endpoints\/one$/m)
    })
  })

  test('the table of headers has every resource that can be listed', async () => {
    const listed = (await kubectl.ok`api-resources --verbs=list -o name`).split('\n')
    // Other test files add kinds of example.com; metrics are nothing that can be created here.
    const known = listed.filter((name) => !/\.(example\.com|metrics\.k8s\.io)$/.test(name))
    expect(known.toSorted()).toEqual(resources.toSorted())
  })

  test('get shows each kind with its own columns', async () => {
    const blocks = blocksOf(await kubectl.ok`get ${all}`)
    const shown = blocks.map((block) => Object.keys(tableOf(block)[0] ?? {}))
    expect(shown).toEqual(resources.map((name) => columnsOf(headers[name]?.[0] ?? '')))
  })

  test('get -o wide adds the columns of each kind that has more', async () => {
    const blocks = blocksOf(await kubectl.ok`get ${all} -o wide`)
    const shown = blocks.map((block) => Object.keys(tableOf(block)[0] ?? {}))
    expect(shown).toEqual(
      resources.map((name) => {
        const [header = '', wide = ''] = headers[name] ?? []
        if (wide.startsWith('*')) return columnsOf(wide.slice(1))
        return [...columnsOf(header), ...columnsOf(wide)]
      }),
    )
  })

  test('cells are the words that users know', async () => {
    const rows = async (...words: string[]) => tableOf(await kubectl.ok`get ${words.join(',')}`)
    expect(await rows('pods')).toMatchObject([
      { NAME: 'one', READY: '1/1', STATUS: 'Running', RESTARTS: '0' },
    ])
    expect((await rows('services'))[0]).toMatchObject({
      NAME: 'one',
      TYPE: 'ClusterIP',
      'CLUSTER-IP': expect.stringMatching(/^10\.96\./) as string,
      'EXTERNAL-IP': '<none>',
      'PORT(S)': '80/TCP',
    })
    expect(await rows('deployments')).toMatchObject([
      { NAME: 'one', READY: '0/0', 'UP-TO-DATE': '0', AVAILABLE: '0' },
    ])
    expect(await rows('pvc')).toMatchObject([
      { NAME: 'one', STATUS: 'Pending', STORAGECLASS: 'no-such-class' },
    ])
    expect(await rows('hpa')).toMatchObject([
      { REFERENCE: 'Deployment/one', TARGETS: 'cpu: <unknown>/80%', MINPODS: '1', MAXPODS: '3' },
    ])
    expect(await rows('cronjobs')).toMatchObject([
      { SCHEDULE: '0 3 * * *', TIMEZONE: '<none>', SUSPEND: 'True', 'LAST SCHEDULE': '<none>' },
    ])
    expect(await rows('ingresses')).toMatchObject([
      { NAME: 'one', CLASS: 'one', HOSTS: 'example.com', PORTS: '80' },
    ])
    expect(await rows('secrets')).toMatchObject([{ NAME: 'one', TYPE: 'Opaque', DATA: '1' }])
    const nodes = await rows('nodes')
    expect(nodes.map((node) => [node['NAME'], node['STATUS'], node['ROLES']])).toEqual(
      expect.arrayContaining([['node-1', 'Ready', '<none>']]),
    )
  })

  test('the endpoints of the API server are where it listens', async () => {
    const kubeconfig = await kubectl.ok`config view --raw -o jsonpath={.clusters[0].cluster.server}`
    const { host, hostname, port } = new URL(kubeconfig)
    const inDefault = kubectl.inNamespace('default')
    expect(tableOf(await inDefault.ok`get endpoints kubernetes`)).toMatchObject([
      { NAME: 'kubernetes', ENDPOINTS: host },
    ])
    expect(tableOf(await inDefault.ok`get endpointslices kubernetes`)).toMatchObject([
      { NAME: 'kubernetes', ADDRESSTYPE: 'IPv4', PORTS: port, ENDPOINTS: hostname },
    ])
    const service = await inDefault.ok`describe service kubernetes`
    expect(service).toMatch(new RegExp(`^TargetPort: +${port}/TCP$`, 'm'))
    expect(service).toMatch(new RegExp(`^Endpoints: +${host}$`, 'm'))
  })

  test('-o yaml and -o json show the same whole objects, -o name each with its group', async () => {
    const [yaml, json, names] = await Promise.all([
      kubectl.ok`get ${all} -o yaml`,
      kubectl.json`get ${all} -o json` as Promise<{ kind: string; items: Item[] }>,
      kubectl.ok`get ${all} -o name`,
    ])
    const parsed = load(yaml) as { kind: string; items: Item[] }
    expect([parsed.kind, json.kind]).toEqual(['List', 'List'])
    const identify = (item: Item) => `${item.apiVersion} ${item.kind} ${item.metadata.name}`
    // Other tests make and delete objects outside this namespace.
    const ours = ({ kind, metadata }: Item) =>
      kind !== 'Event' && (metadata.namespace === 'every-kind' || metadata.name === 'one')
    expect(parsed.items.filter(ours).map(identify)).toEqual(json.items.filter(ours).map(identify))
    for (const item of json.items) {
      expect(item.apiVersion).not.toBe('')
      if (item.kind === 'ComponentStatus') continue
      expect(item.metadata.uid, identify(item)).toMatch(/^[0-9a-f-]{36}$/)
      expect(item.metadata.resourceVersion, identify(item)).toMatch(/^[1-9]\d*$/)
    }
    const found = new Set(json.items.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    expect(made.filter(({ kind, name }) => !found.has(`${kind} ${name}`))).toEqual([])
    const lines = names.split('\n')
    expect(lines).toContain('configmap/one')
    expect(lines).toContain('deployment.apps/one')
    expect(lines).toContain('role.rbac.authorization.k8s.io/one')
  })

  test('-o jsonpath and -o custom-columns pick fields of every kind', async () => {
    const template = '{range .items[*]}{.kind}/{.metadata.name}{"\\n"}{end}'
    const [picked, columns] = await Promise.all([
      kubectl.ok`get ${all} -o jsonpath=${template}`,
      kubectl.ok`get ${all} -o custom-columns=KIND:.kind,NAME:.metadata.name,NONE:.no.such`,
    ])
    const lines = picked.split('\n')
    const rows = tableOf(columns)
    expect(rows[0]).toMatchObject({ NONE: '<none>' })
    const seen = new Set(rows.map((row) => `${row['KIND']}/${row['NAME']}`))
    for (const { kind, name } of made) {
      expect(lines).toContain(`${kind}/${name}`)
      expect(seen).toContain(`${kind}/${name}`)
    }
    expect(await kubectl.ok`get cm one -o jsonpath=${'{.data.color}'}`).toBe('blue')
  })

  test('one object by name, by label, by field, in all namespaces, sorted, with labels', async () => {
    expect(await kubectl.ok`get pod/one -o name`).toBe('pod/one')
    expect(await kubectl.ok`get pods -l app=one -o name`).toBe('pod/one')
    expect(await kubectl.ok`get pods -l ${'app notin (one)'} -o name`).toBe('')
    expect(await kubectl.ok`get pods --field-selector=status.phase=Running -o name`).toBe('pod/one')
    expect(await kubectl.ok`get pods --field-selector=status.phase!=Running -o name`).toBe('')
    const everywhere = tableOf(await kubectl.ok`get configmaps -A`)
    expect(everywhere.map((row) => row['NAMESPACE'])).toContain('kube-system')
    expect(tableOf(await kubectl.ok`get pods --show-labels -L app`)).toMatchObject([
      { APP: 'one', LABELS: 'app=one' },
    ])
    expect(await kubectl.ok`get cm --sort-by=.metadata.name -o name`).toBe(
      'configmap/kube-root-ca.crt\nconfigmap/one',
    )
    expect(await kubectl.ok`get pods,cm -l app=one --no-headers`).toMatch(
      /^pod\/one +1\/1 +Running/,
    )
    // Roles that no other file makes or deletes meanwhile.
    const builtIn = 'kubernetes.io/bootstrapping=rbac-defaults'
    expect(await kubectl.ok`get clusterroles -l ${builtIn} --chunk-size=5 -o name`).toBe(
      await kubectl.ok`get clusterroles -l ${builtIn} -o name`,
    )
  })

  test('what is not there is an error in the words of kubectl', async () => {
    expect((await kubectl.fails`get pod nobody`).stderr).toBe(
      'Error from server (NotFound): pods "nobody" not found\n',
    )
    expect((await kubectl.fails`get nothings`).stderr).toBe(
      'error: the server doesn\'t have a resource type "nothings"\n',
    )
    const empty = await kubectl.try`get daemonsets -n kube-public`
    expect(empty).toMatchObject({
      code: 0,
      stderr: 'No resources found in kube-public namespace.\n',
    })
    expect((await kubectl.fails`get pods --field-selector=spec.nope=1`).stderr).toContain(
      'field label not supported: spec.nope',
    )
  })

  test('all of them can be deleted again', async () => {
    // kubectl waits for objects one by one, five in a second; one wait for all is quicker.
    const deleted = await kubectl.withInput(fixture).ok`delete -f - --wait=false`
    expect(deleted.split('\n')).toHaveLength(made.length)
    await eventually(async () => {
      const left = (await kubectl.ok`get ${all} -o name`).split('\n')
      expect(left.filter((name) => /\/(one|widgets.example.com|by-hand)$/.test(name))).toEqual([])
    })
  })
})
