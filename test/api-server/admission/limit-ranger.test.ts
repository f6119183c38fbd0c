/** LimitRanger: defaults for containers, bounds for containers, Pods and claims. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { user } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'
import { admissionWorld } from './world.ts'

function world(...limits: object[]) {
  const made = admissionWorld(['LimitRanger'])
  made.reader.put(made.resources.limitRanges, {
    metadata: { name: 'r', namespace: 'a' },
    spec: { limits },
  })
  const { pods, persistentVolumeClaims } = made.resources
  const outcome = async (resource: typeof pods, object: object): Promise<string> =>
    (await made.outcome({ resource, object: object as KubeObject })).replace(
      /^403 .* is forbidden: /,
      '',
    )
  return {
    ...made,
    pod: (spec: object) => outcome(pods, { metadata: { name: 'p', namespace: 'a' }, spec }),
    claim: (storage: string) =>
      outcome(persistentVolumeClaims, {
        metadata: { name: 'c', namespace: 'a' },
        spec: { resources: { requests: { storage } } },
      }),
  }
}
const container = (name: string, requests: object, limits: object = {}) => ({
  name,
  resources: { requests, limits },
})

describe('bounds', () => {
  test('of containers', async () => {
    const { pod } = world({
      type: 'Container',
      min: { cpu: '100m' },
      max: { cpu: '1' },
      maxLimitRequestRatio: { cpu: '4' },
    })
    const one = (requests: object, limits: object) =>
      pod({ containers: [container('c', requests, limits)] })
    expect(await one({ cpu: '500m' }, { cpu: '1' })).toBe('admitted')
    expect(await one({ cpu: '50m' }, { cpu: '100m' })).toBe(
      'minimum cpu usage per Container is 100m, but request is 50m',
    )
    expect(await one({ cpu: '500m' }, { cpu: '2' })).toBe(
      'maximum cpu usage per Container is 1, but limit is 2',
    )
    expect(await one({ cpu: '200m' }, { cpu: '1' })).toBe(
      'cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000',
    )
    expect(await one({}, {})).toBe(
      '[minimum cpu usage per Container is 100m.  No request is specified, ' +
        'maximum cpu usage per Container is 1.  No limit is specified, ' +
        'cpu max limit to request ratio per Container is 4, but no request is specified or request is 0]',
    )
  })

  test('of Pods as a whole, initialization and sidecars included', async () => {
    const { pod } = world({ type: 'Pod', max: { memory: '1Gi' } })
    const memory = (amount: string) => [{ memory: amount }, { memory: amount }] as const
    const [half, most] = [memory('512Mi'), memory('1Gi')]
    const containers = [container('a', ...half)]
    expect(await pod({ containers: [...containers, container('b', ...half)] })).toBe('admitted')
    expect(await pod({ containers, initContainers: [container('i', ...most)] })).toBe('admitted')
    const sidecar = { ...container('s', ...half), restartPolicy: 'Always' }
    expect(await pod({ containers, initContainers: [sidecar] })).toBe('admitted')
    const last = container('i', ...most)
    expect(await pod({ containers, initContainers: [sidecar, last] })).toBe(
      'maximum memory usage per Pod is 1Gi, but limit is 1536Mi',
    )
  })

  test('of claims', async () => {
    const { claim } = world({
      type: 'PersistentVolumeClaim',
      min: { storage: '1Gi' },
      max: { storage: '5Gi' },
    })
    expect(await claim('2Gi')).toBe('admitted')
    expect(await claim('1Mi')).toBe(
      'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi',
    )
    expect(await claim('6Gi')).toBe(
      'maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi',
    )
  })
})

describe('what is bounded', () => {
  const bound = { type: 'Container', max: { cpu: '1' } }
  const much = { containers: [container('c', { cpu: '2' }, { cpu: '2' })] }
  const fault = 'maximum cpu usage per Container is 1, but limit is 2'

  test('exactly the least and the most are allowed, of requests and limits both', async () => {
    const item = { min: { cpu: '1' }, max: { cpu: '2' } }
    const { pod } = world({ type: 'Container', ...item })
    const one = (request: string, limit?: string) =>
      pod({
        containers: [container('c', { cpu: request }, limit === undefined ? {} : { cpu: limit })],
      })
    expect(await one('1', '1')).toBe('admitted')
    expect(await one('2', '2')).toBe('admitted')
    expect(await one('1', '2')).toBe('admitted')
    expect(await one('1', '900m')).toBe('minimum cpu usage per Container is 1, but limit is 900m')
    expect(await one('2001m', '2')).toBe(
      'maximum cpu usage per Container is 2, but request is 2001m',
    )
    expect(await one('1')).toBe('maximum cpu usage per Container is 2.  No limit is specified')
    const atLeast = world({ type: 'Container', min: { cpu: '1' } })
    const only = { containers: [container('c', { cpu: '1' })] }
    expect(await atLeast.pod(only)).toBe('admitted')
    const atMost = world({ type: 'Container', max: { cpu: '1' } })
    expect(await atMost.pod({ containers: [container('c', {}, { cpu: '1' })] })).toBe('admitted')
  })

  test('a ratio of a limit to a request, exactly, and of both', async () => {
    const { pod } = world({ type: 'Container', maxLimitRequestRatio: { cpu: '2' } })
    const one = (requests: object, limits: object) =>
      pod({ containers: [container('c', requests, limits)] })
    const says = 'cpu max limit to request ratio per Container is 2, but'
    expect(await one({ cpu: '1' }, { cpu: '2' })).toBe('admitted')
    expect(await one({ cpu: '1' }, { cpu: '2001m' })).toBe(`${says} provided ratio is 2.001000`)
    expect(await one({ cpu: '1' }, {})).toBe(`${says} no limit is specified or limit is 0`)
    expect(await one({ cpu: '0' }, { cpu: '1' })).toBe(
      `${says} no request is specified or request is 0`,
    )
  })

  test('new Pods and their init containers; no update, sub-resource or other kind', async () => {
    const { pod, outcome, resources } = world(bound)
    const fine = container('c', {}, { cpu: '1' })
    expect(await pod(much)).toBe(fault)
    expect(await pod({ containers: [fine], initContainers: much.containers })).toBe(fault)
    const object = { metadata: { name: 'p', namespace: 'a' }, spec: much } as KubeObject
    const at = { resource: resources.pods, object, old: object }
    expect(await outcome({ ...at, operation: 'UPDATE' })).toBe('admitted')
    expect(await outcome({ ...at, subresource: 'binding' })).toBe('admitted')
    expect(await outcome({ ...at, resource: resources.replicaSets })).toBe('admitted')
    const elsewhere = { ...object, metadata: { name: 'p', namespace: 'b' } }
    expect(await outcome({ ...at, object: elsewhere })).toBe('admitted')
  })

  test('requests of Pods are those of Pods, not of claims or containers', async () => {
    const claims = world({ type: 'PersistentVolumeClaim', max: { cpu: '1', storage: '1Gi' } })
    expect(await claims.pod(much)).toBe('admitted')
    const pods = world({ type: 'Pod', max: { storage: '1' } })
    expect(await pods.claim('2Gi')).toBe('admitted')
    const { pod } = world({ type: 'Pod', min: { cpu: '3' }, max: { cpu: '4' } })
    const two = (request: string, limit: string) =>
      pod({
        containers: ['c', 'd'].map((name) => container(name, { cpu: request }, { cpu: limit })),
      })
    expect(await two('1500m', '2')).toBe('admitted')
    expect(await two('1', '2')).toBe('minimum cpu usage per Pod is 3, but request is 2')
    expect(await two('2', '3')).toBe('maximum cpu usage per Pod is 4, but limit is 6')
  })

  test('the overhead counts: to requests, and to limits where there are some', async () => {
    const { pod } = world({ type: 'Pod', max: { cpu: '1' } })
    const overhead = { cpu: '500m' }
    const one = (requests: object, limits: object) =>
      pod({ overhead, containers: [container('c', requests, limits)] })
    expect(await one({ cpu: '500m' }, { cpu: '500m' })).toBe('admitted')
    expect(await one({ cpu: '500m' }, { cpu: '501m' })).toBe(
      'maximum cpu usage per Pod is 1, but limit is 1001m',
    )
    expect(await one({}, {})).toBe('maximum cpu usage per Pod is 1.  No limit is specified')
    const atLeast = world({ type: 'Pod', min: { cpu: '500m' } })
    expect(await atLeast.pod({ overhead, containers: [container('c', {})] })).toBe('admitted')
  })

  test('claims when they are made and changed, unless they are going', async () => {
    const { outcome, resources } = world({ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } })
    const claim = (requests: object | undefined, metadata = {}): KubeObject => ({
      metadata: { name: 'c', namespace: 'a', ...metadata },
      spec: requests && { resources: { requests } },
    })
    const at = { resource: resources.persistentVolumeClaims }
    const big = claim({ storage: '2Gi' })
    const change = { ...at, operation: 'UPDATE' as const, old: big }
    expect(await outcome({ ...at, object: claim({ storage: '1Gi' }) })).toBe('admitted')
    expect(await outcome({ ...at, object: big })).toContain('but request is 2Gi')
    expect(await outcome({ ...change, object: big })).toContain('but request is 2Gi')
    const going = claim({ storage: '2Gi' }, { deletionTimestamp: '2025-01-01T00:00:00Z' })
    expect(await outcome({ ...change, object: going })).toBe('admitted')
    expect(await outcome({ ...change, subresource: 'status', object: big })).toBe('admitted')
    for (const none of [{}, undefined]) {
      expect(await outcome({ ...at, object: claim(none) })).toContain('No request is specified')
    }
  })

  test('by every range of the namespace, as it is now', async () => {
    const { reader, resources, pod } = world(bound)
    const put = (name: string, ...limits: object[]) =>
      reader.put(resources.limitRanges, { metadata: { name, namespace: 'a' }, spec: { limits } })
    const small = { containers: [container('c', {}, { cpu: '1', memory: '2Gi' })] }
    expect(await pod(small)).toBe('admitted')
    put('s', { type: 'Container', max: { memory: '1Gi' } })
    expect(await pod(small)).toBe('maximum memory usage per Container is 1Gi, but limit is 2Gi')
    put('r')
    put('s')
    expect(await pod(much)).toBe('admitted')
  })

  test('what containers do not say is filled in before, for init containers too', async () => {
    const item = {
      type: 'Container',
      default: { cpu: '2' },
      defaultRequest: { cpu: '1', memory: '1Gi' },
    }
    const { admit, resources } = world(item, { type: 'Pod', default: { storage: '1' } })
    const spec = { containers: [{ name: 'c' }], initContainers: [container('i', { cpu: '500m' })] }
    const object = { metadata: { name: 'p', namespace: 'a' }, spec } as KubeObject
    const made = await admit({ resource: resources.pods, object })
    const limits = { cpu: '2' }
    expect(made?.['spec']).toEqual({
      containers: [{ name: 'c', resources: { limits, requests: { cpu: '1', memory: '1Gi' } } }],
      initContainers: [
        { name: 'i', resources: { limits, requests: { cpu: '500m', memory: '1Gi' } } },
      ],
    })
    expect(made?.metadata.annotations).toEqual({
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c; memory request for init container i; cpu limit for init container i',
    })
    const other = world({ type: 'Pod', default: { cpu: '1' } })
    const plain = await other.admit({ resource: resources.pods, object })
    expect(plain?.metadata.annotations).toBeUndefined()
    expect(plain?.['spec'].containers).toEqual([{ name: 'c' }])
  })
})

describeDialects('limit ranges', (server) => {
  test('give containers what they do not ask for, and say so', async () => {
    const ns = await server().namespace()
    const core = `/api/v1/namespaces/${ns}`
    const limits = [
      { type: 'Container', default: { cpu: '500m', memory: '64Mi' }, max: { cpu: '2' } },
    ]
    await server().ok('POST', `${core}/limitranges`, {
      body: { metadata: { name: 'r' }, spec: { limits } },
    })
    const containers = [
      { name: 'bare', image: 'i' },
      { name: 'own', image: 'i', resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } },
    ]
    const pod = await server().ok('POST', `${core}/pods`, {
      body: { metadata: { name: 'p' }, spec: { containers } },
    })
    const all = { cpu: '500m', memory: '64Mi' }
    expect(pod.spec.containers.map(({ resources }: { resources: object }) => resources)).toEqual([
      { limits: all, requests: all },
      { limits: { cpu: '2', memory: '64Mi' }, requests: { cpu: '1', memory: '64Mi' } },
    ])
    expect(pod.metadata.annotations).toEqual({
      [`${dialects[server().dialect.name].labelDomain}/limit-ranger`]:
        'LimitRanger plugin set: cpu, memory request for container bare; cpu, memory limit for container bare; memory request for container own; memory limit for container own',
    })
    expect(pod.status.qosClass).toBe('Burstable')
    const big = { name: 'c', image: 'i', resources: { limits: { cpu: '3' } } }
    const refused = await server().request('POST', `${core}/pods`, {
      body: { metadata: { name: 'big' }, spec: { containers: [big] } },
      as: user('jane', 'system:masters'),
    })
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'pods "big" is forbidden: maximum cpu usage per Container is 2, but limit is 3',
    ])
  })
})
