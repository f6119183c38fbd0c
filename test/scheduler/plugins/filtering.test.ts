/** Filters and queueing hints of single plugins: upstream's tables of cases in meaning. */
import { describe, expect, test } from 'vitest'
import type { Node, Pod } from '../../../components/api/generated/types.ts'
import type { ClusterEvent } from '../../../components/scheduler/cluster-event.ts'
import { nodeUpdateEvents, podUpdateEvents } from '../../../components/scheduler/cluster-event.ts'
import { defaultPluginArguments } from '../../../components/scheduler/configuration/plugin-arguments.ts'
import type { NodeWishes, PodWishes } from '../build.ts'
import { clusterWith, node, pod } from '../build.ts'
import { rejectionsBy, wakes } from './support.ts'

const labelled = (labels: Record<string, string>, wishes: PodWishes = {}): Pod => {
  const made = pod(wishes)
  made.metadata.labels = labels
  return made
}

describe('filters', () => {
  const cases: [string, string, NodeWishes, PodWishes, string | undefined][] = [
    [
      'NodeName',
      'another node',
      {},
      { nodeName: 'other' },
      "node(s) didn't match the requested node name",
    ],
    [
      'NodeUnschedulable',
      'a cordoned node',
      { unschedulable: true },
      {},
      'node(s) were unschedulable',
    ],
    [
      'NodeUnschedulable',
      'a cordoned node and a toleration of all',
      { unschedulable: true },
      { tolerations: [{ operator: 'Exists' }] },
      undefined,
    ],
    [
      'TaintToleration',
      'a taint',
      { taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] },
      {},
      'node(s) had untolerated taint {a: b}',
    ],
    [
      'TaintToleration',
      'a toleration of another value',
      { taints: [{ key: 'a', value: 'b', effect: 'NoExecute' }] },
      { tolerations: [{ key: 'a', value: 'c' }] },
      'node(s) had untolerated taint {a: b}',
    ],
    [
      'TaintToleration',
      'a soft taint',
      { taints: [{ key: 'a', effect: 'PreferNoSchedule' }] },
      {},
      undefined,
    ],
    [
      'NodeAffinity',
      'a selector that does not match',
      {},
      { nodeSelector: { disk: 'ssd' } },
      "node(s) didn't match Pod's node affinity/selector",
    ],
    [
      'NodeAffinity',
      'a selector that matches',
      { labels: { disk: 'ssd' } },
      { nodeSelector: { disk: 'ssd' } },
      undefined,
    ],
    [
      'NodeResourcesFit',
      'too little of two resources',
      { cpu: '1', memory: '1Gi' },
      { cpu: '2', memory: '2Gi' },
      'Insufficient cpu, Insufficient memory',
    ],
    ['NodeResourcesFit', 'no room for another pod', { pods: '0' }, {}, 'Too many pods'],
    ['NodeResourcesFit', 'all that there is', { cpu: '2' }, { cpu: '2' }, undefined],
  ]
  test.each(cases)('%s: %s', (name, _title, nodeWishes, podWishes, reason) => {
    const where = clusterWith({}, node('n', nodeWishes))
    expect(rejectionsBy(where, name, pod(podWishes))).toEqual(
      reason === undefined ? {} : { n: reason },
    )
  })

  const operators: [string, string, string[] | undefined, Record<string, string>, boolean][] = [
    ['In', 'size', ['3', '4'], { size: '3' }, true],
    ['In', 'size', ['4'], { size: '3' }, false],
    ['NotIn', 'size', ['3'], {}, true],
    ['Exists', 'size', undefined, {}, false],
    ['DoesNotExist', 'size', undefined, {}, true],
    ['Gt', 'size', ['2'], { size: '3' }, true],
    ['Gt', 'size', ['2'], { size: 'many' }, false],
    ['Lt', 'size', ['2'], { size: '1' }, true],
  ]
  test.each(operators)('NodeAffinity: %s %s %j with %j', (operator, key, values, labels, fits) => {
    const matchExpressions = [{ key, operator, ...(values === undefined ? {} : { values }) }]
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
    }
    const where = clusterWith({}, node('n', { labels }))
    const rejected = rejectionsBy(where, 'NodeAffinity', pod({ affinity: { nodeAffinity } }))
    expect(Object.keys(rejected)).toEqual(fits ? [] : ['n'])
  })

  test('NodeAffinity: the affinity that the profile adds holds for every pod', () => {
    const nodeSelectorTerms = [{ matchExpressions: [{ key: 'pool', operator: 'Exists' }] }]
    const addedAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }
    const args = { ...defaultPluginArguments, NodeAffinity: { addedAffinity } }
    const where = clusterWith({ args }, node('in', { labels: { pool: 'a' } }), node('out'))
    expect(rejectionsBy(where, 'NodeAffinity', pod())).toEqual({
      out: "node(s) didn't match scheduler-enforced node affinity",
    })
  })

  test('NodeResourcesFit: ignored resources and groups do not count', () => {
    const requests = { 'example.com/gpu': '1', 'vendor.org/fpga': '1' }
    const wishes = { containers: [{ name: 'm', resources: { requests } }] } as PodWishes
    const where = clusterWith({}, node('n'))
    expect(rejectionsBy(where, 'NodeResourcesFit', pod(wishes))).toEqual({
      n: 'Insufficient example.com/gpu, Insufficient vendor.org/fpga',
    })
    const NodeResourcesFit = {
      ...defaultPluginArguments.NodeResourcesFit,
      ignoredResources: ['example.com/gpu'],
      ignoredResourceGroups: ['vendor.org'],
    }
    const lenient = clusterWith(
      { args: { ...defaultPluginArguments, NodeResourcesFit } },
      node('n'),
    )
    expect(rejectionsBy(lenient, 'NodeResourcesFit', pod(wishes))).toEqual({})
  })

  test('PodTopologySpread: nodes that the pod may not go to count by the policies', () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
    }
    const taints = [{ key: 'a', effect: 'NoSchedule' }]
    const where = clusterWith(
      {},
      node('a', { labels: { zone: 'a' } }),
      node('b', { labels: { zone: 'b' }, taints }),
    )
    where.snapshot.setPod(labelled({ app: 'web' }, { nodeName: 'a' }))
    const rejected = (more: object) =>
      Object.keys(
        rejectionsBy(
          where,
          'PodTopologySpread',
          labelled({ app: 'web' }, { topologySpreadConstraints: [{ ...constraint, ...more }] }),
        ),
      )
    expect(rejected({})).toEqual(['a'])
    expect(rejected({ nodeTaintsPolicy: 'Honor' })).toEqual([])
    expect(rejected({ nodeTaintsPolicy: 'Honor', minDomains: 2 })).toEqual(['a'])
  })

  test('PodTopologySpread: matchLabelKeys narrow the group to pods of the same value', () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
      matchLabelKeys: ['rev'],
    }
    const where = clusterWith(
      {},
      node('a', { labels: { zone: 'a' } }),
      node('b', { labels: { zone: 'b' } }),
    )
    where.snapshot.setPod(labelled({ app: 'web', rev: '1' }, { nodeName: 'a' }))
    const of = (rev: string) =>
      labelled({ app: 'web', rev }, { topologySpreadConstraints: [constraint] })
    expect(Object.keys(rejectionsBy(where, 'PodTopologySpread', of('1')))).toEqual(['a'])
    expect(rejectionsBy(where, 'PodTopologySpread', of('2'))).toEqual({})
  })
})

describe('queueing hints', () => {
  const changed = (old: Node, now: Node): ClusterEvent => {
    const [event] = nodeUpdateEvents(old, now)
    if (event === undefined) throw new Error('nothing changed')
    return event
  }
  const added = (wishes: NodeWishes): ClusterEvent => ({
    resource: 'Node',
    action: 'Add',
    now: node('n', wishes),
  })
  const left = (old: Pod): ClusterEvent => ({ resource: 'AssignedPod', action: 'Delete', old })
  const came = (now: Pod): ClusterEvent => ({ resource: 'AssignedPod', action: 'Add', now })
  const taints = [{ key: 'a', effect: 'NoSchedule' }]
  const term = (app: string) => [{ topologyKey: 'zone', labelSelector: { matchLabels: { app } } }]
  const near = (app: string): PodWishes => ({
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term(app) } },
  })
  const apart = (app: string): PodWishes => ({
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term(app) } },
  })
  const spread: PodWishes = {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ],
  }

  const cases: [string, string, PodWishes, ClusterEvent, boolean][] = [
    ['NodeResourcesFit', 'a node with room', { cpu: '2' }, added({ cpu: '4' }), true],
    ['NodeResourcesFit', 'a node that is too small', { cpu: '8' }, added({ cpu: '4' }), false],
    [
      'NodeResourcesFit',
      'a node that grew in what is asked',
      { cpu: '2' },
      changed(node('n', { cpu: '1' }), node('n', { cpu: '4' })),
      true,
    ],
    [
      'NodeResourcesFit',
      'a node that grew in something else',
      { cpu: '2' },
      changed(node('n', { memory: '1Gi' }), node('n', { memory: '8Gi' })),
      false,
    ],
    [
      'NodeResourcesFit',
      'a pod that left a node',
      { cpu: '2' },
      left(pod({ nodeName: 'n' })),
      true,
    ],
    [
      'NodeResourcesFit',
      'a pod that left without ever having a node',
      { cpu: '2' },
      left(pod()),
      false,
    ],
    ['NodeResourcesFit', 'a pod that came', { cpu: '2' }, came(pod({ nodeName: 'n' })), false],
    ['TaintToleration', 'a taint that went', {}, changed(node('n', { taints }), node('n')), true],
    ['TaintToleration', 'a taint that came', {}, changed(node('n'), node('n', { taints })), false],
    [
      'NodeUnschedulable',
      'an uncordoned node',
      {},
      changed(node('n', { unschedulable: true }), node('n')),
      true,
    ],
    [
      'NodeUnschedulable',
      'a cordoned node',
      {},
      changed(node('n'), node('n', { unschedulable: true })),
      false,
    ],
    [
      'NodeAffinity',
      'a label that was missing',
      { nodeSelector: { disk: 'ssd' } },
      changed(node('n'), node('n', { labels: { disk: 'ssd' } })),
      true,
    ],
    [
      'NodeAffinity',
      'another label',
      { nodeSelector: { disk: 'ssd' } },
      changed(node('n'), node('n', { labels: { other: 'x' } })),
      false,
    ],
    [
      'NodePorts',
      'a pod with the same port that left',
      { hostPort: 80 },
      left(pod({ nodeName: 'n', hostPort: 80 })),
      true,
    ],
    [
      'NodePorts',
      'a pod with another port that left',
      { hostPort: 80 },
      left(pod({ nodeName: 'n', hostPort: 81 })),
      false,
    ],
    [
      'InterPodAffinity',
      'a pod to be near that came',
      near('db'),
      came(labelled({ app: 'db' }, { nodeName: 'n' })),
      true,
    ],
    [
      'InterPodAffinity',
      'another pod that came',
      near('db'),
      came(labelled({ app: 'x' }, { nodeName: 'n' })),
      false,
    ],
    [
      'InterPodAffinity',
      'a pod to avoid that left',
      apart('db'),
      left(labelled({ app: 'db' }, { nodeName: 'n' })),
      true,
    ],
    [
      'InterPodAffinity',
      'a pod to be near that left',
      near('db'),
      left(labelled({ app: 'db' }, { nodeName: 'n' })),
      false,
    ],
    [
      'PodTopologySpread',
      'a pod of the group that left',
      spread,
      left(labelled({ app: 'web' }, { nodeName: 'n' })),
      true,
    ],
    [
      'PodTopologySpread',
      'another pod that left',
      spread,
      left(labelled({ app: 'x' }, { nodeName: 'n' })),
      false,
    ],
    [
      'PodTopologySpread',
      'a node of the topology that went',
      spread,
      { resource: 'Node', action: 'Delete', old: node('n', { labels: { zone: 'a' } }) },
      true,
    ],
    ['PodTopologySpread', 'a node outside that came', spread, added({}), false],
  ]
  test.each(cases)('%s: %s', (name, _title, wishes, event, isWoken) => {
    const where = clusterWith({})
    expect(wakes(where, name, { pod: labelled({ app: 'web' }, wishes), event })).toBe(isWoken)
  })

  test('a pod that gets a toleration is woken by its own change alone', () => {
    const where = clusterWith({})
    const old = pod({ name: 'p' })
    const now = pod({ name: 'p', tolerations: [{ operator: 'Exists' }] })
    const [event] = podUpdateEvents('UnscheduledPod', old, now)
    if (event === undefined) throw new Error('it changed')
    expect(wakes(where, 'TaintToleration', { pod: now, event })).toBe(true)
    expect(wakes(where, 'TaintToleration', { pod: pod({ name: 'other' }), event })).toBe(false)
    expect(wakes(where, 'NodeResourcesFit', { pod: now, event })).toBe(false)
  })
})
