/** ResourceQuota: what fits, what does not and why, and what is reserved. */
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { conflict } from '../../../components/machinery/objects/status-error.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { allPlugins } from '../../../components/api-server/admission/plugins.ts'
import { admissionDependencies, admissionWorld } from './world.ts'

type Amounts = Record<string, string>

/** A world whose own client writes to its reader, by compare-and-swap. */
function world(limited?: object[]) {
  const reader = new FakeReader()
  const writes: string[] = []
  let races = 0
  const made = admissionWorld(['ResourceQuota'], {
    reader,
    client: {
      create: async () => {},
      updateStatus: async (resource: Resource, namespace: string, object: KubeObject) => {
        await Promise.resolve()
        const { name = '', resourceVersion } = object.metadata
        const stored = reader.get(resource, namespace, name)
        if (races > 0 || stored?.metadata.resourceVersion !== resourceVersion) {
          if (races > 0 && stored !== undefined) reader.put(resource, stored)
          races -= 1
          throw conflict(resource, name, 'the object has been modified')
        }
        writes.push(name)
        reader.put(resource, object)
      },
    },
    settings: limited === undefined ? {} : { ResourceQuota: limited as never },
  })
  const { resourceQuotas, pods } = made.resources
  const quota = (name: string, hard: Amounts, more: { used?: Amounts; spec?: object } = {}) => {
    const zero = Object.fromEntries(Object.keys(hard).map((key) => [key, '0']))
    reader.put(resourceQuotas, {
      metadata: { name, namespace: 'a' },
      spec: { hard, ...more.spec },
      status: { hard, used: { ...zero, ...more.used } },
    })
  }
  const used = (name: string): Amounts =>
    (reader.get(resourceQuotas, 'a', name)?.['status'] as { used: Amounts }).used
  let names = 0
  const pod = (spec: object = {}): KubeObject => ({
    metadata: { name: `p${(names += 1)}`, namespace: 'a' },
    spec: { containers: [{ name: 'c' }], ...spec },
  })
  const create = async (object: KubeObject, resource: Resource = pods): Promise<string> =>
    (await made.outcome({ resource, object })).replace(/^403 .* is forbidden: /, '')
  return { ...made, quota, used, pod, create, writes, race: (times: number) => (races = times) }
}

const withResources = (requests: Amounts, limits: Amounts = {}) => ({
  containers: [{ name: 'c', resources: { requests, limits } }],
})

describe('a quota', () => {
  test('is charged for a pod, and full at its limit', async () => {
    const { quota, used, pod, create } = world()
    quota('q', { pods: '2', 'requests.cpu': '1' })
    const half = withResources({ cpu: '500m' })
    expect(await create(pod(half))).toBe('admitted')
    expect(used('q')).toEqual({ pods: '1', 'requests.cpu': '500m' })
    expect(await create(pod(half))).toBe('admitted')
    expect(await create(pod(half))).toBe(
      'exceeded quota: q, requested: pods=1,requests.cpu=500m, used: pods=2,requests.cpu=1, limited: pods=2,requests.cpu=1',
    )
    expect(used('q')).toEqual({ pods: '2', 'requests.cpu': '1' })
  })

  test('names only what is exceeded', async () => {
    const { quota, pod, create } = world()
    quota('q', { pods: '5', 'limits.memory': '1Gi' })
    const spec = withResources({}, { memory: '2Gi' })
    expect(await create(pod(spec))).toBe(
      'exceeded quota: q, requested: limits.memory=2Gi, used: limits.memory=0, limited: limits.memory=1Gi',
    )
  })

  test('of CPU or memory needs every container to say how much it wants', async () => {
    const { quota, pod, create } = world()
    quota('q', { 'limits.cpu': '4', memory: '4Gi' })
    const silent = { name: 'b' }
    const both = { name: 'a', resources: { requests: { memory: '1Gi' } } }
    expect(await create(pod({ containers: [both, silent], initContainers: [silent] }))).toBe(
      'failed quota: q: must specify limits.cpu for: a,b; memory for: b',
    )
  })

  test('whose usage is not counted yet rejects', async () => {
    const { quota, reader, resources, pod, create } = world()
    quota('q', { pods: '2', cpu: '1' })
    reader.put(resources.resourceQuotas, {
      ...(reader.get(resources.resourceQuotas, 'a', 'q') as KubeObject),
      status: { hard: { pods: '2' }, used: {} },
    })
    expect(await create(pod())).toBe('status unknown for quota: q, resources: pods')
  })

  test('that has no status yet limits nothing', async () => {
    const { reader, resources, pod, create } = world()
    const metadata = { name: 'q', namespace: 'a' }
    reader.put(resources.resourceQuotas, { metadata, spec: { hard: { pods: '0' } }, status: {} })
    expect(await create(pod())).toBe('admitted')
  })

  test('counts any kind by number, some also under an older name', async () => {
    const { quota, used, create, resources } = world()
    quota('q', { 'count/deployments.apps': '1', secrets: '1', 'count/secrets': '2' })
    const named = (name: string) => ({ metadata: { name, namespace: 'a' } })
    expect(await create(named('x'), resources.deployments)).toBe('admitted')
    expect(await create(named('y'), resources.deployments)).toBe(
      'exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1',
    )
    expect(await create(named('x'), resources.secrets)).toBe('admitted')
    expect(await create(named('y'), resources.secrets)).toBe(
      'exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1',
    )
    expect(used('q')).toMatchObject({ 'count/secrets': '1', secrets: '1' })
  })

  test('counts Events, reviews, sub-resources and deletions not at all', async () => {
    const { quota, outcome, resources, writes } = world()
    quota('q', { 'count/events': '0', pods: '0', 'count/pods': '0' })
    const object = { metadata: { name: 'x', namespace: 'a' }, spec: { containers: [] } }
    const asked = { object, old: object, namespace: 'a' }
    expect(await outcome({ ...asked, resource: resources.events })).toBe('admitted')
    const status = { ...asked, operation: 'UPDATE', subresource: 'status' } as const
    expect(await outcome({ ...status, resource: resources.pods })).toBe('admitted')
    const gone = { operation: 'DELETE', resource: resources.pods, namespace: 'a' } as const
    expect(await outcome(gone)).toBe('admitted')
    expect(await outcome({ ...asked, operation: 'UPDATE', resource: resources.pods })).toBe(
      'admitted',
    )
    expect(writes).toEqual([])
  })

  test('is not charged by a dry run, which is still checked', async () => {
    const { quota, used, pod, outcome, resources } = world()
    quota('q', { pods: '1' })
    const asked = { resource: resources.pods, dryRun: true }
    expect(await outcome({ ...asked, object: pod() })).toBe('admitted')
    expect(used('q')).toEqual({ pods: '0' })
    quota('q', { pods: '0' })
    expect(await outcome({ ...asked, object: pod() })).toContain('exceeded quota: q')
  })

  test('is charged for the increase of an update', async () => {
    const { quota, used, outcome, resources } = world()
    const { services } = resources
    quota('q', { services: '1', 'services.nodeports': '2' }, { used: { services: '1' } })
    const service = (type: string, ports: number): KubeObject => ({
      metadata: { name: 's', namespace: 'a', resourceVersion: '5' },
      spec: { type, ports: Array.from({ length: ports }, (_, i) => ({ port: i + 1 })) },
    })
    const update = (old: KubeObject, object: KubeObject) =>
      outcome({ resource: services, operation: 'UPDATE', old, object })
    expect(await update(service('ClusterIP', 3), service('NodePort', 3))).toContain(
      'exceeded quota: q, requested: services.nodeports=3, used: services.nodeports=0, limited: services.nodeports=2',
    )
    expect(await update(service('ClusterIP', 2), service('NodePort', 2))).toBe('admitted')
    expect(used('q')).toEqual({ services: '1', 'services.nodeports': '2' })
    expect(await update(service('NodePort', 2), service('NodePort', 1))).toBe('admitted')
    expect(used('q')).toEqual({ services: '1', 'services.nodeports': '2' })
  })

  test('of claims counts by storage class, and whole bytes', async () => {
    const { quota, used, create, resources } = world()
    const gold = 'gold.storageclass.storage.k8s.io'
    quota('q', {
      'requests.storage': '10Gi',
      [`${gold}/requests.storage`]: '1Gi',
      [`${gold}/persistentvolumeclaims`]: '5',
    })
    const claim = (name: string, storage: string, storageClassName: string) => ({
      metadata: { name, namespace: 'a' },
      spec: { storageClassName, resources: { requests: { storage } } },
    })
    const { persistentVolumeClaims: claims } = resources
    expect(await create(claim('a', '2Gi', 'slow'), claims)).toBe('admitted')
    expect(await create(claim('b', '2Gi', 'gold'), claims)).toBe(
      `exceeded quota: q, requested: ${gold}/requests.storage=2Gi, used: ${gold}/requests.storage=0, limited: ${gold}/requests.storage=1Gi`,
    )
    expect(await create(claim('c', '100m', 'gold'), claims)).toBe('admitted')
    expect(used('q')).toMatchObject({
      [`${gold}/persistentvolumeclaims`]: '1',
      [`${gold}/requests.storage`]: '1',
    })
  })

  test('of devices counts the most that a claim can get', async () => {
    const { quota, create, resources } = world()
    const name = 'gpu.deviceclass.resource.k8s.io/devices'
    quota('q', { [name]: '32' })
    const claim = (...requests: object[]) => ({
      metadata: { name: 'c', namespace: 'a' },
      spec: { devices: { requests } },
    })
    const one = { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 }
    const all = { deviceClassName: 'gpu', allocationMode: 'All' }
    const { resourceClaims } = resources
    expect(await create(claim(one, all), resourceClaims)).toBe(
      `exceeded quota: q, requested: ${name}=33, used: ${name}=0, limited: ${name}=32`,
    )
    expect(await create(claim(all), resourceClaims)).toBe('admitted')
  })
})

describe('scopes', () => {
  const affinity = {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'x', namespaces: ['b'] }],
    },
  }
  const inClass = (operator: string, ...values: string[]) => ({
    scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator, values }] },
  })
  test.each<[string, object, object, object]>([
    ['Terminating', { scopes: ['Terminating'] }, { activeDeadlineSeconds: 0 }, {}],
    ['NotTerminating', { scopes: ['NotTerminating'] }, {}, { activeDeadlineSeconds: 5 }],
    ['BestEffort', { scopes: ['BestEffort'] }, {}, withResources({ cpu: '1' })],
    ['NotBestEffort', { scopes: ['NotBestEffort'] }, withResources({ cpu: '1' }), {}],
    ['CrossNamespacePodAffinity', { scopes: ['CrossNamespacePodAffinity'] }, { affinity }, {}],
    [
      'a priority class',
      inClass('In', 'high'),
      { priorityClassName: 'high' },
      { priorityClassName: 'low' },
    ],
    ['no such priority class', inClass('NotIn', 'high'), {}, { priorityClassName: 'high' }],
    ['any priority class', inClass('Exists'), { priorityClassName: 'x' }, {}],
    ['no priority class', inClass('DoesNotExist'), {}, { priorityClassName: 'x' }],
  ])('a quota with %s counts only the pods in it', async (_what, spec, inside, outside) => {
    const { quota, pod, create } = world()
    quota('q', { pods: '0' }, { spec })
    expect(await create(pod(outside))).toBe('admitted')
    expect(await create(pod(inside))).toContain('exceeded quota: q')
  })

  test('a quota with scopes counts no kinds without them', async () => {
    const { quota, create, resources } = world()
    quota('q', { services: '0' }, { spec: { scopes: ['BestEffort'] } })
    const service = { metadata: { name: 's', namespace: 'a' }, spec: {} }
    expect(await create(service, resources.services)).toBe('admitted')
  })
})

describe('limited resources', () => {
  const pods = { apiGroup: '', resource: 'pods', matchContains: [], matchScopes: [] }

  test('cannot be used without a quota of them', async () => {
    const { quota, pod, create } = world([{ ...pods, matchContains: ['cpu'] }])
    const spec = withResources({ cpu: '1' })
    expect(await create(pod(spec))).toBe('insufficient quota to consume: cpu,requests.cpu')
    expect(await create(pod())).toBe('admitted')
    quota('q', { cpu: '2', 'requests.cpu': '2' })
    expect(await create(pod(spec))).toBe('admitted')
  })

  test('limited scopes need a quota with that scope', async () => {
    const scope = { scopeName: 'PriorityClass', operator: 'In', values: ['high', 'top'] }
    const { quota, pod, create } = world([{ ...pods, matchScopes: [scope] }])
    const spec = { priorityClassName: 'high' }
    expect(await create(pod(spec))).toBe(
      '500 insufficient quota to match these scopes: [{PriorityClass In [high top]}]',
    )
    quota('q', { pods: '1' }, { spec: { scopeSelector: { matchExpressions: [scope] } } })
    expect(await create(pod(spec))).toBe('admitted')
  })
})

describe('reservations', () => {
  test('of many at once are written together and never exceed', async () => {
    const { quota, used, pod, create, writes } = world()
    quota('q', { pods: '5' })
    quota('other', { 'count/pods': '100' })
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => create(pod())))
    expect(outcomes.filter((one) => one === 'admitted')).toHaveLength(5)
    expect(new Set(outcomes.filter((one) => one !== 'admitted'))).toEqual(
      new Set(['exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5']),
    )
    expect(used('q')).toEqual({ pods: '5' })
    expect(used('other')).toEqual({ 'count/pods': '5' })
    // The first alone, the others together, for each quota.
    expect(writes.toSorted()).toEqual(['other', 'other', 'q', 'q'])
  })

  test('survive three lost races, and report the fourth', async () => {
    const { quota, used, pod, create, race } = world()
    quota('q', { pods: '5' })
    race(3)
    expect(await create(pod())).toBe('admitted')
    expect(used('q')).toEqual({ pods: '1' })
    race(4)
    expect(await create(pod())).toContain('409 Operation cannot be fulfilled on resourcequotas "q"')
    expect(used('q')).toEqual({ pods: '1' })
  })

  test('that take longer than ten seconds fail', async () => {
    const reader = new FakeReader()
    const { outcome, resources, clock } = admissionWorld(['ResourceQuota'], {
      reader,
      client: { create: async () => {}, updateStatus: () => new Promise<never>(() => {}) },
    })
    reader.put(resources.resourceQuotas, {
      metadata: { name: 'q', namespace: 'a' },
      status: { hard: { pods: '1' }, used: { pods: '0' } },
    })
    const object = { metadata: { name: 'p', namespace: 'a' }, spec: { containers: [] } }
    const late = outcome({ resource: resources.pods, object })
    await clock.step(10_000)
    expect(await late).toBe('500 Internal error occurred: resource quota evaluation timed out')
  })

  test('take no turn where no quota counts the object', () => {
    const { quota, reader, resources } = world()
    quota('q', { secrets: '1' })
    const plugin = allPlugins.ResourceQuota(admissionDependencies({ reader }))
    const ask = (namespace: string) =>
      plugin.validate?.({
        operation: 'CREATE',
        resource: resources.pods,
        subresource: '',
        namespace,
        name: 'p',
        object: { metadata: { name: 'p', namespace }, spec: { containers: [] } },
        old: undefined,
        user: { name: 'jane', groups: [] },
        dryRun: false,
        warnings: [],
      })
    expect(ask('a')).toBeUndefined()
    expect(ask('b')).toBeUndefined()
  })
})

describe('a status that somebody else counted', () => {
  const written = async (used: Amounts, stored: Amounts = { pods: '2' }) => {
    const { quota, reader, resources, admit } = world()
    quota('q', { pods: '5' }, { used: stored })
    for (const name of ['x', 'y']) {
      const spec = { containers: [] }
      reader.put(resources.pods, { metadata: { name, namespace: 'a' }, spec })
    }
    const old = reader.get(resources.resourceQuotas, 'a', 'q') as KubeObject
    const object = { ...old, status: { hard: { pods: '5' }, used } }
    const asked = { resource: resources.resourceQuotas, operation: 'UPDATE', subresource: 'status' }
    const result = await admit({ ...asked, operation: 'UPDATE', old, object })
    return (result?.['status'] as { used: Amounts }).used
  }

  test('cannot say less than is there', async () => {
    expect(await written({ pods: '1' })).toEqual({ pods: '2' })
  })

  test('may say what is there, or more', async () => {
    expect(await written({ pods: '2' }, { pods: '4' })).toEqual({ pods: '2' })
    expect(await written({ pods: '4' })).toEqual({ pods: '4' })
  })
})
