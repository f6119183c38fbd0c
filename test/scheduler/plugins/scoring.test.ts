/** Scores of single plugins: upstream's tables of cases in meaning. */
import { describe, expect, test } from 'vitest'
import type { Node, Pod } from '../../../components/api/generated/types.ts'
import type { PluginArguments } from '../../../components/scheduler/configuration/plugin-arguments.ts'
import { defaultPluginArguments } from '../../../components/scheduler/configuration/plugin-arguments.ts'
import type { PodWishes } from '../build.ts'
import { clusterWith, node, pod } from '../build.ts'
import { scoresBy } from './support.ts'

const argsWith = (args: Partial<PluginArguments>) => ({
  args: { ...defaultPluginArguments, ...args },
})
const cpuAndMemory = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
]
const strategy = (type: string, more: object = {}) =>
  argsWith({
    NodeResourcesFit: {
      ...defaultPluginArguments.NodeResourcesFit,
      scoringStrategy: { type, resources: cpuAndMemory, ...more },
    },
  })

describe('NodeResourcesFit', () => {
  const nodes = [node('n1', { cpu: '4', memory: '10Gi' }), node('n2', { cpu: '4', memory: '10Gi' })]
  const full = pod({ nodeName: 'n2', cpu: '2', memory: '5Gi' })
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 100, score: 10 },
  ]
  const cases: [string, ReturnType<typeof strategy>, PodWishes, object][] = [
    [
      'LeastAllocated prefers the emptier node',
      strategy('LeastAllocated'),
      { cpu: '1', memory: '2560Mi' },
      { n1: 75, n2: 25 },
    ],
    [
      'MostAllocated prefers the fuller node',
      strategy('MostAllocated'),
      { cpu: '1', memory: '2560Mi' },
      { n1: 25, n2: 75 },
    ],
    [
      'a rising ratio is like MostAllocated',
      strategy('RequestedToCapacityRatio', { requestedToCapacityRatio: { shape } }),
      { cpu: '1', memory: '2560Mi' },
      { n1: 25, n2: 75 },
    ],
    [
      'a falling ratio is like LeastAllocated',
      strategy('RequestedToCapacityRatio', {
        requestedToCapacityRatio: {
          shape: [
            { utilization: 0, score: 10 },
            { utilization: 100, score: 0 },
          ],
        },
      }),
      { cpu: '1', memory: '2560Mi' },
      { n1: 75, n2: 25 },
    ],
    [
      'weights count',
      strategy('LeastAllocated', {
        resources: [
          { name: 'cpu', weight: 3 },
          { name: 'memory', weight: 1 },
        ],
      }),
      { cpu: '2', memory: '0' },
      { n1: 62, n2: 12 },
    ],
    [
      'a node that would be over-committed has 0 for that resource',
      strategy('LeastAllocated'),
      { cpu: '3', memory: '2560Mi' },
      { n1: 50, n2: 12 },
    ],
  ]
  test.each(cases)('%s', (_title, settings, wishes, expected) => {
    const where = clusterWith(settings, ...nodes)
    where.snapshot.setPod(full)
    expect(scoresBy(where, 'NodeResourcesFit', pod(wishes))).toEqual(expected)
  })

  test('containers without requests count as if they asked for a little', () => {
    const where = clusterWith(
      strategy('LeastAllocated'),
      node('n1', { cpu: '1', memory: '2000Mi' }),
    )
    expect(scoresBy(where, 'NodeResourcesFit', pod())).toEqual({ n1: 90 })
  })

  test('an extended resource that a pod does not ask for does not count', () => {
    const resources = [...cpuAndMemory, { name: 'example.com/gpu', weight: 1 }]
    const where = clusterWith(
      strategy('LeastAllocated', { resources }),
      node('n1', { allocatable: { 'example.com/gpu': '4' } }),
    )
    expect(scoresBy(where, 'NodeResourcesFit', pod({ cpu: '2', memory: '4Gi' }))).toEqual({
      n1: 50,
    })
  })
})

describe('NodeResourcesBalancedAllocation', () => {
  const cases: [string, PodWishes, object | undefined][] = [
    ['equal shares are best', { cpu: '1', memory: '2Gi' }, { even: 100, cpuheavy: 87 }],
    [
      'a pod that mends the balance scores high',
      { cpu: '0', memory: '2Gi' },
      { even: 87, cpuheavy: 100 },
    ],
    ['a pod without requests has no preference', {}, undefined],
  ]
  test.each(cases)('%s', (_title, wishes, expected) => {
    const where = clusterWith({}, node('even'), node('cpuheavy'))
    where.snapshot.setPod(pod({ nodeName: 'cpuheavy', cpu: '1' }))
    expect(scoresBy(where, 'NodeResourcesBalancedAllocation', pod(wishes))).toEqual(expected)
  })
})

describe('ImageLocality', () => {
  const mega = 1024 * 1024
  const withImages = (name: string, images: Record<string, number>): Node => {
    const made = node(name)
    const listed = Object.entries(images).map(([image, size]) => ({
      names: [image],
      sizeBytes: size * mega,
    }))
    return { ...made, status: { ...made.status, images: listed } } as Node
  }
  const using = (...images: string[]): Pod =>
    pod({ containers: images.map((image, i) => ({ name: `c${i}`, image })) })
  const where = () =>
    clusterWith(
      {},
      withImages('n1', { 'app:latest': 1000, 'base:1': 40 }),
      withImages('n2', { 'base:1': 40 }),
    )

  test('the node with the larger part of the images is better, scaled by how many nodes have it', () => {
    // 1000 MB on one of two nodes counts as 500 of at most 1000, from 23 on.
    expect(scoresBy(where(), 'ImageLocality', using('app'))).toEqual({ n1: 48, n2: 0 })
  })

  test('an image that all nodes have counts fully, small ones hardly', () => {
    expect(scoresBy(where(), 'ImageLocality', using('base:1'))).toEqual({ n1: 1, n2: 1 })
  })

  test('an image without a tag is the latest one, and registries with ports are no tags', () => {
    expect(scoresBy(where(), 'ImageLocality', using('localhost:5000/app'))).toBeUndefined()
  })

  test('nodes that lose an image lose their score', () => {
    const cluster = where()
    cluster.snapshot.setNode(withImages('n1', {}))
    expect(scoresBy(cluster, 'ImageLocality', using('app'))).toBeUndefined()
  })
})

describe('TaintToleration', () => {
  const soft = (key: string) => ({ key, value: 'v', effect: 'PreferNoSchedule' })
  test('fewer intolerable soft taints are better', () => {
    const where = clusterWith(
      {},
      node('none'),
      node('one', { taints: [soft('a')] }),
      node('two', { taints: [soft('a'), soft('b')] }),
    )
    expect(scoresBy(where, 'TaintToleration', pod())).toEqual({ none: 100, one: 50, two: 0 })
    const tolerations = [{ key: 'a', operator: 'Exists' }]
    expect(scoresBy(where, 'TaintToleration', pod({ tolerations }))).toEqual({
      none: 100,
      one: 100,
      two: 0,
    })
  })
  test('without soft taints there is no preference', () => {
    const where = clusterWith({}, node('n', { taints: [{ key: 'a', effect: 'NoSchedule' }] }))
    expect(scoresBy(where, 'TaintToleration', pod())).toBeUndefined()
  })
})

describe('NodeAffinity', () => {
  const prefers = (key: string, weight: number) => ({
    weight,
    preference: { matchExpressions: [{ key, operator: 'Exists' }] },
  })
  test('weights add up, and the best node has 100', () => {
    const where = clusterWith(
      {},
      node('both', { labels: { a: '', b: '' } }),
      node('b', { labels: { b: '' } }),
      node('none'),
    )
    const affinity = {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [prefers('a', 3), prefers('b', 1)],
      },
    }
    expect(scoresBy(where, 'NodeAffinity', pod({ affinity }))).toEqual({
      both: 100,
      b: 25,
      none: 0,
    })
  })
  test('the affinity that the profile adds counts for every pod', () => {
    const addedAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [prefers('a', 1)] }
    const where = clusterWith(
      argsWith({ NodeAffinity: { addedAffinity } }),
      node('a', { labels: { a: '' } }),
      node('none'),
    )
    expect(scoresBy(where, 'NodeAffinity', pod())).toEqual({ a: 100, none: 0 })
  })
})

describe('InterPodAffinity', () => {
  const zone = 'zone'
  const term = (app: string) => ({ topologyKey: zone, labelSelector: { matchLabels: { app } } })
  const labelled = (app: string, wishes: PodWishes): Pod => {
    const made = pod(wishes)
    made.metadata.labels = { app }
    return made
  }
  const zones = [
    node('a', { labels: { zone: 'a' } }),
    node('b', { labels: { zone: 'b' } }),
    node('bare'),
  ]
  const preferring = (kind: 'podAffinity' | 'podAntiAffinity', app: string, weight: number) => ({
    affinity: {
      [kind]: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm: term(app) }],
      },
    },
  })
  const cases: [string, Pod, Pod, object | undefined][] = [
    [
      'own affinity draws to a pod',
      labelled('db', { nodeName: 'b' }),
      labelled('web', preferring('podAffinity', 'db', 5)),
      { a: 0, b: 100, bare: 0 },
    ],
    [
      'own anti-affinity keeps away',
      labelled('db', { nodeName: 'b' }),
      labelled('web', preferring('podAntiAffinity', 'db', 5)),
      { a: 100, b: 0, bare: 100 },
    ],
    [
      'a placed pod that likes this one draws it',
      labelled('db', { nodeName: 'b', ...preferring('podAffinity', 'web', 5) }),
      labelled('web', {}),
      { a: 0, b: 100, bare: 0 },
    ],
    [
      'a placed pod that dislikes this one repels it',
      labelled('db', { nodeName: 'b', ...preferring('podAntiAffinity', 'web', 5) }),
      labelled('web', {}),
      { a: 100, b: 0, bare: 100 },
    ],
    [
      'a placed pod that requires this one draws it',
      labelled('db', {
        nodeName: 'b',
        affinity: {
          podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('web')] },
        },
      }),
      labelled('web', {}),
      { a: 0, b: 100, bare: 0 },
    ],
    [
      'pods that nobody speaks of have no preference',
      labelled('db', { nodeName: 'b' }),
      labelled('web', {}),
      undefined,
    ],
  ]
  test.each(cases)('%s', (_title, placed, incoming, expected) => {
    const where = clusterWith({}, ...zones)
    where.snapshot.setPod(placed)
    expect(scoresBy(where, 'InterPodAffinity', incoming)).toEqual(expected)
  })
  test('the weight of required rules and preferences of placed pods can be switched off', () => {
    const InterPodAffinity = { hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true }
    const where = clusterWith(argsWith({ InterPodAffinity }), ...zones)
    where.snapshot.setPod(labelled('db', { nodeName: 'b', ...preferring('podAffinity', 'web', 5) }))
    expect(scoresBy(where, 'InterPodAffinity', labelled('web', {}))).toBeUndefined()
  })
})

describe('PodTopologySpread by default', () => {
  const host = 'kubernetes.io/hostname'
  const topology = 'topology.kubernetes.io/zone'
  const at = (name: string, zone: string) =>
    node(name, { labels: { [host]: name, [topology]: zone } })
  const service = {
    metadata: { name: 's', namespace: 'default' },
    spec: { selector: { app: 'web' } },
  }
  const replicaSet = {
    metadata: { name: 'rs', namespace: 'default', uid: 'rs' },
    spec: { selector: { matchLabels: { app: 'web' } } },
  }
  const web = (wishes: PodWishes = {}, isOwned = false): Pod => {
    const made = pod(wishes)
    made.metadata.labels = { app: 'web' }
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      name: 'rs',
      uid: 'rs',
      controller: true,
    }
    if (isOwned) made.metadata.ownerReferences = [owner]
    return made
  }
  const spread = (objects: Record<string, object[]>, isOwned = false) => {
    const where = clusterWith(
      { objects: objects as never },
      at('a1', 'a'),
      at('a2', 'a'),
      at('b1', 'b'),
    )
    where.snapshot.setPod(web({ nodeName: 'a1' }))
    return scoresBy(where, 'PodTopologySpread', web({}, isOwned))
  }
  test('pods of a service prefer other nodes and other zones', () => {
    const scores = spread({ services: [service] })
    expect(scores?.['b1']).toBe(100)
    expect(scores?.['a2']).toBeGreaterThan(scores?.['a1'] ?? 0)
    expect(scores?.['b1']).toBeGreaterThan(scores?.['a2'] ?? 100)
  })
  test('so do pods of a ReplicaSet', () => {
    expect(spread({ replicasets: [replicaSet] }, true)).toEqual(spread({ services: [service] }))
  })
  test('other pods have no preference', () => {
    expect(spread({})).toBeUndefined()
    expect(
      spread({ services: [{ ...service, spec: { selector: { app: 'db' } } }] }),
    ).toBeUndefined()
  })
  test('a list of constraints takes the place of the system ones', () => {
    const constraint = { maxSkew: 1, topologyKey: topology, whenUnsatisfiable: 'ScheduleAnyway' }
    const PodTopologySpread = { defaultingType: 'List', defaultConstraints: [constraint] }
    const objects = { services: [service] }
    const where = clusterWith(
      { ...argsWith({ PodTopologySpread }), objects },
      at('a1', 'a'),
      at('a2', 'a'),
      at('b1', 'b'),
    )
    where.snapshot.setPod(web({ nodeName: 'a1' }))
    expect(scoresBy(where, 'PodTopologySpread', web())).toEqual({ a1: 0, a2: 0, b1: 100 })
  })
})
