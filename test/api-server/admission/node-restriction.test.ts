import { beforeEach, describe, expect, test } from 'vitest'
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
      label('topology', 'zone'),
      label('beta', 'arch'),
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
        { spec: { resourceClaims: [{ name: 'r', resourceClaimName: 's' }] } },
        'reference resourceclaims',
      ],
    ] as const) {
      expect([change, await create(mirror(change))]).toEqual([change, expect.stringContaining(why)])
    }
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
    expect(await request(pod('none'))).toBe('404 pods "none" not found')
  })

  test('leases and CSINodes: its own name', async () => {
    const named = (name: string, namespace = ''): KubeObject => ({ metadata: { name, namespace } })
    const lease = (name: string, namespace: string = dialect.nodeLeaseNamespace) =>
      ask({ resource: resources.leases, object: named(name, namespace) })
    expect(await lease('n1')).toBe('admitted')
    expect(await lease('n2')).toContain('same name as the requesting node')
    expect(await lease('n1', 'a')).toContain('can only access leases in')
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
  })

  test('other kinds are left to authorization', async () => {
    expect(await ask({ resource: resources.events, object: { metadata: { name: 'e' } } })).toBe(
      'admitted',
    )
  })
})
