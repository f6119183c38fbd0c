import { beforeEach, describe, expect, test } from 'vitest'
import type { AdmissionRequest } from '../../../components/api-server/admission/admission.ts'
import { nodeRestriction } from '../../../components/api-server/admission/node-restriction.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { admissionWorld, nodeAgent } from './world.ts'
import type { Asked } from './world.ts'

describe.each([dialects.kubernetes, dialects.svc])('NodeRestriction ($name)', (dialect) => {
  let world: ReturnType<typeof admissionWorld>
  beforeEach(() => {
    world = admissionWorld(['NodeRestriction'], { dialect })
    world.reader.put(world.resources.nodes, { metadata: { name: 'n1', uid: 'u1' } })
    for (const [name, nodeName] of [
      ['mine', 'n1'],
      ['theirs', 'n2'],
    ]) {
      world.reader.put(world.resources.pods, {
        metadata: { namespace: 'a', name: name ?? '', uid: `uid-${name}` },
        spec: { nodeName },
      })
    }
  })
  const { resources } = admissionWorld([], { dialect })
  const ask = (asked: Asked): Promise<string> => world.outcome({ user: nodeAgent('n1'), ...asked })
  const update = 'UPDATE' as const
  const remove = 'DELETE' as const
  const label = (subdomain: string, name: string): string =>
    `${subdomain ? `${subdomain}.` : ''}${dialect.labelDomain}/${name}`

  const node = (name: string, more: Partial<KubeObject> = {}): KubeObject => ({
    ...more,
    metadata: { name, ...more.metadata },
  })

  test('[NODEAUTHZ-008] a node agent writes its own Node and pods bound to it only', async () => {
    expect(await ask({ resource: resources.nodes, object: node('n1') })).toBe('admitted')
    expect(await ask({ resource: resources.nodes, object: node('n2') })).toBe(
      '403 nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
    )
    const change = { resource: resources.nodes, operation: update, name: 'n2' }
    expect(await ask({ ...change, object: node('n2'), old: node('n2') })).toContain('not allowed')
    expect(await ask({ resource: resources.nodes, operation: remove, name: 'n2' })).toContain('403')
    const drop = { resource: resources.pods, operation: remove, namespace: 'a' }
    expect(await ask({ ...drop, name: 'mine' })).toBe('admitted')
    expect(await ask({ ...drop, name: 'theirs' })).toBe(
      '403 pods "theirs" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
    )
    expect(await ask({ ...drop, name: 'none' })).toBe('404 pods "none" not found')
  })

  test('[NODEAUTHZ-014] whoever is not a node agent is not restricted', async () => {
    for (const user of [
      { name: 'jane', groups: ['system:nodes'] },
      { name: 'system:node:n1', groups: [] },
    ]) {
      expect(await ask({ resource: resources.nodes, object: node('n2'), user })).toBe('admitted')
    }
    expect(
      await ask({ resource: resources.pods, operation: 'CONNECT', subresource: 'exec', name: 'x' }),
    ).toBe('admitted')
    const unknown = { name: 'system:node:', groups: ['system:nodes'] }
    expect(await ask({ resource: resources.nodes, object: node('n2'), user: unknown })).toContain(
      'could not determine node from user',
    )
  })

  test('labels: its own kinds only, never node-restriction', async () => {
    const withLabels = (...keys: string[]): KubeObject =>
      node('n1', { metadata: { labels: Object.fromEntries(keys.map((key) => [key, 'x'])) } })
    const good = [
      label('', 'hostname'),
      label('', 'os'),
      label('', 'arch'),
      label('topology', 'zone'),
      label('topology', 'region'),
      label('failure-domain.beta', 'zone'),
      label('failure-domain.beta', 'region'),
      label('beta', 'os'),
      label('beta', 'arch'),
      label('beta', 'instance-type'),
      label('node', 'instance-type'),
      `not${label('', 'other')}`,
      `not${dialect.apiDomain}/other`,
      label('node', 'anything'),
      label('x.node', 'anything'),
      label('kubelet', 'anything'),
      'example.com/x',
      'plain',
    ]
    expect(await ask({ resource: resources.nodes, object: withLabels(...good) })).toBe('admitted')
    const bad = [
      label('node-restriction', 'x'),
      label('a.node-restriction', 'x'),
      label('', 'other'),
      label('other', 'x'),
      label('beta', 'hostname'),
      label('topology', 'hostname'),
      `${dialect.apiDomain}/y`,
      `x.${dialect.apiDomain}/y`,
    ]
    for (const key of bad) {
      expect(await ask({ resource: resources.nodes, object: withLabels(key, 'plain') })).toBe(
        `403 nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: ${key}`,
      )
      const at = { resource: resources.nodes, operation: update }
      expect(await ask({ ...at, object: withLabels(key), old: withLabels() })).toContain(
        `is not allowed to modify labels: ${key}`,
      )
      expect(await ask({ ...at, object: withLabels(), old: withLabels(key) })).toContain(key)
      expect(await ask({ ...at, object: withLabels(key), old: withLabels(key) })).toBe('admitted')
    }
    const [first, second] = [label('other', 'a'), label('other', 'b')]
    expect(await ask({ resource: resources.nodes, object: withLabels(second, first) })).toContain(
      `set the following labels: ${first}, ${second}`,
    )
  })

  test('a configuration source may stay or go, not come or change', async () => {
    const from = (name?: string) => node('n1', { spec: name ? { configSource: { name } } : {} })
    const create = (object: KubeObject) => ask({ resource: resources.nodes, object })
    expect(await create(from('a'))).toContain('with a non-nil configSource')
    expect(await create(from())).toBe('admitted')
    const change = (old: KubeObject, object: KubeObject) =>
      ask({ resource: resources.nodes, operation: update, old, object })
    expect(await change(from(), from('a'))).toContain('to a new non-nil configSource')
    expect(await change(from('b'), from('a'))).toContain('to a new non-nil configSource')
    expect(await change(from('a'), from('a'))).toBe('admitted')
    expect(await change(from('a'), from())).toBe('admitted')
  })

  test('taints are set once, when the node registers', async () => {
    const tainted = node('n1', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } })
    expect(await ask({ resource: resources.nodes, object: tainted })).toBe('admitted')
    const at = { resource: resources.nodes, operation: update }
    expect(await ask({ ...at, object: node('n1'), old: tainted })).toContain('modify taints')
    expect(await ask({ ...at, object: tainted, old: tainted, subresource: 'status' })).toBe(
      'admitted',
    )
  })

  test('a node changes no owner references of itself, through whatever it may write (CVE-2025-5187)', async () => {
    const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'none', uid: 'u' }
    const owned = node('n1', { metadata: { ownerReferences: [owner] } })
    const why = '403 nodes "n1" is forbidden: node "n1" is not allowed to modify ownerReferences'
    for (const subresource of ['', 'status']) {
      const at = { resource: resources.nodes, operation: update, subresource }
      expect(await ask({ ...at, object: owned, old: node('n1') })).toBe(why)
      expect(await ask({ ...at, object: node('n1'), old: owned })).toBe(why)
      expect(await ask({ ...at, object: owned, old: owned })).toBe('admitted')
    }
  })

  const mirror = (
    change: { spec?: object; owner?: object; metadata?: object } = {},
  ): KubeObject => ({
    metadata: {
      namespace: 'a',
      name: 'm',
      annotations: { [label('', 'config.mirror')]: 'x' },
      ownerReferences: [
        {
          apiVersion: 'v1',
          kind: 'Node',
          name: 'n1',
          uid: 'u1',
          controller: true,
          ...change.owner,
        },
      ],
      ...change.metadata,
    },
    spec: { nodeName: 'n1', containers: [], ...change.spec },
  })

  test('it creates mirror pods only, its own, that refer to nothing (CVE-2025-4563)', async () => {
    const create = (object: KubeObject) => ask({ resource: resources.pods, object })
    expect(await create(mirror())).toBe('admitted')
    for (const [change, why] of [
      [{ metadata: { annotations: {} } }, 'can only create mirror pods'],
      [{ spec: { nodeName: 'n2' } }, 'spec.nodeName set to itself'],
      [{ metadata: { ownerReferences: [] } }, 'an owner reference set to itself'],
      [{ metadata: { ownerReferences: [{}, {}] } }, 'a single owner reference'],
      [{ owner: { name: 'n2' } }, 'an owner reference set to itself'],
      [{ owner: { kind: 'Pod' } }, 'an owner reference set to itself'],
      [{ owner: { apiVersion: 'v2' } }, 'an owner reference set to itself'],
      [{ metadata: { ownerReferences: undefined } }, 'an owner reference set to itself'],
      [{ metadata: { annotations: undefined } }, 'can only create mirror pods'],
      [{ owner: { controller: false } }, 'a controller owner reference'],
      [{ owner: { blockOwnerDeletion: true } }, 'must not set blockOwnerDeletion'],
      [{ owner: { uid: 'u2' } }, 'UID mismatch: expected u2 got u1'],
      [{ spec: { serviceAccountName: 'b' } }, 'reference a service account'],
      [{ spec: { imagePullSecrets: [{ name: 's' }] } }, 'reference secrets'],
      [{ spec: { volumes: [{ name: 'v', configMap: { name: 's' } }] } }, 'reference configmaps'],
      [
        { spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 's' } }] } },
        'persistentvolumeclaims',
      ],
      [
        { spec: { volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 's' } }] } }] } },
        'reference secrets',
      ],
      [
        {
          spec: {
            volumes: [
              { name: 'v', projected: { sources: [{}, { clusterTrustBundle: { path: 'p' } }] } },
            ],
          },
        },
        'reference clustertrustbundles',
      ],
      [
        { spec: { resourceClaims: [{ name: 'r', resourceClaimName: 's' }] } },
        'reference resourceclaims',
      ],
    ] as const) {
      expect([change, await create(mirror(change))]).toEqual([change, expect.stringContaining(why)])
    }
    const harmless = {
      serviceAccountName: '',
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'w', projected: {} },
        { name: 'x', projected: { sources: [{ downwardAPI: {} }] } },
      ],
      resourceClaims: [],
    }
    const blocking = { blockOwnerDeletion: false }
    expect(await create(mirror({ spec: harmless, owner: blocking }))).toBe('admitted')
    world.reader.remove(resources.nodes, '', 'n1')
    expect(await create(mirror())).toBe('404 nodes "n1" not found')
    const at = { resource: resources.pods, operation: update, object: mirror(), old: mirror() }
    expect(await ask(at)).toContain('can only create and delete mirror pods')
  })

  test("a pod's status: its own pods, and no labels", async () => {
    const pod = (nodeName: string, labels = {}): KubeObject => ({
      metadata: { namespace: 'a', name: 'p', labels },
      spec: { nodeName },
    })
    const status = (old: KubeObject, object: KubeObject) =>
      ask({ resource: resources.pods, subresource: 'status', operation: update, old, object })
    expect(await status(pod('n1'), pod('n1'))).toBe('admitted')
    expect(await status(pod('n2'), pod('n1'))).toContain('can only update pod status for pods')
    expect(await status(pod('n1'), pod('n1', { a: 'b' }))).toContain('cannot update labels')
    const claims = { ...pod('n1'), status: { resourceClaimStatuses: [{ name: 'x' }] } }
    expect(await status(pod('n1'), claims)).toContain('resource claim')
    expect(await status(claims, pod('n1'))).toContain('resource claim')
    expect(await status(claims, claims)).toBe('admitted')
    const others = { ...pod('n1'), status: { resourceClaimStatuses: [{ name: 'y' }] } }
    expect(await status(claims, others)).toContain('resource claim')
    const labelled = pod('n1', { a: 'b' })
    expect(await status(labelled, labelled)).toBe('admitted')
    const unlabelled = { metadata: { namespace: 'a', name: 'p' }, spec: { nodeName: 'n1' } }
    expect(await status(unlabelled, pod('n1'))).toBe('admitted')
    expect(await status(labelled, unlabelled)).toContain('cannot update labels')
    const created = { resource: resources.pods, subresource: 'status', object: pod('n1') }
    expect(await ask(created)).toContain('unexpected operation "CREATE"')
    const exec = { resource: resources.pods, subresource: 'exec', object: pod('n1') }
    expect(await ask(exec)).toContain("only 'status' and 'eviction' are allowed")
  })

  test('evictions: its own pods', async () => {
    const evict = (name: string) =>
      ask({
        resource: resources.pods,
        subresource: 'eviction',
        namespace: 'a',
        name,
        object: { metadata: { name } },
      })
    expect(await evict('mine')).toBe('admitted')
    expect(await evict('theirs')).toContain('can only evict pods with spec.nodeName set to itself')
    expect(await evict('none')).toBe('404 pods "none" not found')
    const eviction = { resource: resources.pods, subresource: 'eviction', namespace: 'a' }
    const inObject = (name: string) =>
      ask({ ...eviction, name: '', object: { metadata: { name } } })
    expect(await inObject('mine')).toBe('admitted')
    expect(await inObject('theirs')).toContain('can only evict pods')
    expect(await inObject('')).toContain('could not determine pod from request data')
    expect(await ask({ ...eviction, name: 'mine', operation: remove })).toContain(
      'unexpected operation DELETE',
    )
  })

  test('tokens: bound to one of its own pods', async () => {
    const request = (boundObjectRef?: object) =>
      ask({
        resource: resources.serviceAccounts,
        subresource: 'token',
        namespace: 'a',
        name: 'b',
        object: { metadata: {}, spec: { boundObjectRef } },
      })
    const pod = (name: string, uid = `uid-${name}`) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      name,
      uid,
    })
    expect(await request(pod('mine'))).toBe('admitted')
    expect(await request(pod('theirs'))).toContain('scheduled on a different node')
    expect(await request(pod('mine', 'old'))).toContain('does not match the UID in record')
    expect(await request(pod('mine', ''))).toContain('without a uid')
    expect(await request()).toContain('not bound to a pod')
    expect(await request({ ...pod('mine'), kind: 'Secret' })).toContain('not bound to a pod')
    expect(await request({ ...pod('mine'), apiVersion: 'v2' })).toContain('not bound to a pod')
    expect(await request(pod(''))).toContain('not bound to a pod')
    expect(await request(pod('none'))).toBe('404 pods "none" not found')
  })

  test('accounts themselves are left to authorization', async () => {
    const object = { metadata: { namespace: 'a', name: 'b' } }
    expect(await ask({ resource: resources.serviceAccounts, object })).toBe('admitted')
    const at = { resource: resources.serviceAccounts, operation: update, object, old: object }
    expect(await ask({ ...at, subresource: 'token' })).toBe('admitted')
  })

  test('leases and CSINodes: its own name', async () => {
    const named = (name: string, namespace = ''): KubeObject => ({ metadata: { name, namespace } })
    const lease = (name: string, namespace: string = dialect.nodeLeaseNamespace) =>
      ask({ resource: resources.leases, object: named(name, namespace) })
    expect(await lease('n1')).toBe('admitted')
    expect(await lease('n2')).toContain('same name as the requesting node')
    expect(await lease('n1', 'a')).toContain('can only access leases in')
    const object = named('n2', dialect.nodeLeaseNamespace)
    const claimed = { resource: resources.leases, object, name: 'n1' }
    expect(await ask(claimed)).toContain('same name as the requesting node')
    const drops = (name: string) =>
      ask({
        resource: resources.leases,
        operation: remove,
        namespace: dialect.nodeLeaseNamespace,
        name,
      })
    expect(await drops('n1')).toBe('admitted')
    expect(await drops('n2')).toContain('same name as the requesting node')
    expect(await ask({ resource: resources.csiNodes, object: named('n1') })).toBe('admitted')
    expect(await ask({ resource: resources.csiNodes, object: named('n2') })).toContain('CSINode')
    const at = { operation: remove, name: 'n2' }
    expect(await ask({ resource: resources.csiNodes, ...at })).toContain('CSINode')
  })

  test("a claim's status: capacity and conditions, nothing else", async () => {
    const claim = (status: object, more = {}): KubeObject => ({
      metadata: { name: 'c', namespace: 'a', resourceVersion: '1', ...more },
      spec: {},
      status,
    })
    const at = {
      resource: resources.persistentVolumeClaims,
      operation: update,
      subresource: 'status',
    }
    const old = claim({ phase: 'Bound' })
    const resized = claim(
      { phase: 'Bound', capacity: { storage: '2' }, conditions: [{}] },
      { resourceVersion: '' },
    )
    expect(await ask({ ...at, old, object: resized })).toBe('admitted')
    expect(await ask({ ...at, old, object: claim({ phase: 'Lost' }) })).toContain(
      'other than status.capacity',
    )
    const relabelled = claim({ phase: 'Bound' }, { labels: { a: 'b' } })
    expect(await ask({ ...at, old, object: relabelled })).toContain('other than status.capacity')
    expect(await ask({ ...at, subresource: '', old, object: old })).toContain(
      'may only update PVC status',
    )
    const reported = { allocatedResources: { storage: '2' }, allocatedResourceStatuses: { x: 'y' } }
    const managed = { managedFields: [{ manager: 'kubelet' }] }
    const report = claim({ phase: 'Bound', ...reported }, managed)
    expect(await ask({ ...at, old, object: report })).toBe('admitted')
    expect(await ask({ ...at, old: report, object: old })).toBe('admitted')
    const respecified = { ...old, spec: { volumeName: 'v' } }
    expect(await ask({ ...at, old, object: respecified })).toContain('other than status.capacity')
    expect(await ask({ ...at, operation: remove, name: 'c' })).toContain(
      'unexpected operation "DELETE"',
    )
  })

  test('slices: of its own node', async () => {
    const slice = (nodeName: string): KubeObject => ({
      metadata: { name: 's' },
      spec: { nodeName },
    })
    const { resourceSlices: resource } = resources
    expect(await ask({ resource, object: slice('n1') })).toBe('admitted')
    expect(await ask({ resource, object: slice('n2') })).toContain('can only create ResourceSlice')
    const drop = { resource, operation: remove, name: 's' }
    expect(await ask({ ...drop, old: slice('n2') })).toContain('can only delete ResourceSlice')
    expect(await ask({ ...drop, old: slice('n1') })).toBe('admitted')
    // What it may change is up to authorization and validation.
    const change = { resource, operation: update, old: slice('n2'), object: slice('n2') }
    expect(await ask(change)).toBe('admitted')
  })

  test('other kinds are left to authorization', async () => {
    expect(await ask({ resource: resources.events, object: { metadata: { name: 'e' } } })).toBe(
      'admitted',
    )
  })

  test('what is stored is judged as the node sent it, before plugins add to it', async () => {
    const plugin = nodeRestriction(world.reader, dialect)
    const ofNode = (given: Partial<AdmissionRequest>): AdmissionRequest => ({
      operation: 'CREATE',
      resource: resources.pods,
      subresource: '',
      namespace: 'a',
      name: 'm',
      object: mirror({ spec: { serviceAccountName: 'b' } }),
      old: undefined,
      user: nodeAgent('n1'),
      dryRun: false,
      warnings: [],
      ...given,
    })
    const phases = (given: Partial<AdmissionRequest>): string[] =>
      (['mutate', 'validate'] as const).filter((phase) => {
        try {
          void plugin[phase]?.(ofNode(given))
          return false
        } catch {
          return true
        }
      })
    expect(phases({})).toEqual(['mutate'])
    expect(phases({ operation: update, old: mirror() })).toEqual(['mutate'])
    expect(phases({ operation: remove, object: undefined, name: 'theirs' })).toEqual(['validate'])
    expect(phases({ subresource: 'eviction', name: 'theirs' })).toEqual(['validate'])
  })
})
