import { describe, expect, test } from 'vitest'
import { enoughFeasible } from '../../components/scheduler/find-node.ts'
import { fitMessage } from '../../components/scheduler/fit-error.ts'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import type { NodeWishes, PodWishes } from './build.ts'
import { cluster, node, pod } from './build.ts'

function place(where: ReturnType<typeof cluster>, wishes: PodWishes = {}): string | undefined {
  const info = podInfoOf(pod(wishes))
  const decision = where.findNode(info)
  if (!decision.ok) return undefined
  where.snapshot.assume(info, decision.node.name)
  return decision.node.name
}

async function whyNot(where: ReturnType<typeof cluster>, wishes: PodWishes = {}): Promise<string> {
  const info = podInfoOf(pod(wishes))
  const decision = where.findNode(info)
  if (decision.ok) throw new Error(`placed on ${decision.node.name}`)
  const { diagnosis } = decision
  if (diagnosis.nodeCount === 0) return fitMessage(diagnosis)
  const result = await where.postFilter(info)
  return fitMessage(diagnosis, result.ok ? undefined : result.message)
}

describe('the choice of a node', () => {
  test('equal nodes take turns', () => {
    const where = cluster(node('a'), node('b'), node('c'))
    const chosen = Array.from({ length: 6 }, () => place(where))
    expect(chosen.slice(0, 3).toSorted()).toEqual(['a', 'b', 'c'])
    expect(chosen.slice(3)).toEqual(chosen.slice(0, 3))
  })

  test('equal nodes take turns even when one pod is too small to change a score', () => {
    const where = cluster(node('a', { cpu: '1000' }), node('b', { cpu: '1000' }))
    const chosen = Array.from({ length: 100 }, () => place(where, { cpu: '1m', memory: '1Ki' }))
    expect(chosen.filter((name) => name === 'a')).toHaveLength(50)
  })

  test('the emptier node is better', () => {
    const where = cluster(node('full'), node('empty'))
    where.snapshot.setPod(pod({ cpu: '3', memory: '6Gi', nodeName: 'full' }))
    expect([place(where), place(where), place(where)]).toEqual(['empty', 'empty', 'empty'])
  })

  test('preferred node affinity beats an emptier node', () => {
    const where = cluster(node('plain'), node('ssd', { labels: { disk: 'ssd' } }))
    where.snapshot.setPod(pod({ cpu: '1', nodeName: 'ssd' }))
    const preference = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }
    const nodeAffinity = {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, preference }],
    }
    expect(place(where, { affinity: { nodeAffinity } })).toBe('ssd')
  })

  test('a PreferNoSchedule taint makes a node the last choice, not forbidden', () => {
    const taints = [{ key: 'old', value: 'yes', effect: 'PreferNoSchedule' }]
    const where = cluster(node('old', { taints }), node('new'))
    where.snapshot.setPod(pod({ cpu: '3', memory: '6Gi', nodeName: 'new' }))
    expect(place(where, { cpu: '1' })).toBe('new')
    expect(place(where, { cpu: '1' })).toBe('old')
  })

  test('a large cluster is searched only as far as needed', () => {
    expect([50, 100, 500, 5000, 10_000].map((count) => enoughFeasible(count, 0))).toEqual([
      50, 100, 230, 500, 500,
    ])
    expect(enoughFeasible(1000, 100)).toBe(1000)
  })
})

describe('why no node takes a pod', () => {
  const messages: [string, NodeWishes[], PodWishes, string][] = [
    [
      'cpu and taints',
      [{ cpu: '1' }, { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] }],
      { cpu: '2' },
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}. ' +
        'preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, ' +
        '1 Preemption is not helpful for scheduling.',
    ],
    [
      'a taint without a value',
      [{ taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] }],
      {},
      '0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }. ' +
        'preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    ],
    [
      'several shortages on each node',
      [{}, {}],
      { cpu: '5', memory: '9Gi' },
      '0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory. preemption: ' +
        '0/2 nodes are available: 2 No preemption victims found for incoming pod.',
    ],
    [
      'a selector',
      [{}, {}, {}],
      { nodeSelector: { disk: 'ssd' } },
      "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. preemption: " +
        '0/3 nodes are available: 3 Preemption is not helpful for scheduling.',
    ],
    [
      'cordoned nodes',
      [{ unschedulable: true }],
      {},
      '0/1 nodes are available: 1 node(s) were unschedulable. preemption: ' +
        '0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    ],
    [
      'a full node',
      [{ pods: '0' }],
      { preemptionPolicy: 'Never' },
      '0/1 nodes are available: 1 Too many pods. preemption: not eligible due to ' +
        'preemptionPolicy=Never.',
    ],
    ['an empty cluster', [], {}, 'no nodes available to schedule pods'],
  ]
  test.each(messages)('%s', async (_title, nodes, wishes, message) => {
    const where = cluster(...nodes.map((each, index) => node(`n${index}`, each)))
    expect(await whyNot(where, wishes)).toBe(message)
  })

  test('an extended resource is named', async () => {
    const where = cluster(node('a', { allocatable: { 'example.com/gpu': '1' } }))
    const wish = (): PodWishes => ({
      containers: [
        { name: 'm', resources: { requests: { 'example.com/gpu': '1' } } },
      ] as PodWishes['containers'] & object,
    })
    expect(place(where, wish())).toBe('a')
    expect(await whyNot(where, wish())).toContain('1 Insufficient example.com/gpu')
  })

  test('a pod that names its node is not looked for elsewhere', async () => {
    const where = cluster(node('a', { cpu: '1' }), node('b'), node('c'))
    const terms = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }]
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
    }
    expect(await whyNot(where, { cpu: '2', affinity: { nodeAffinity } })).toMatch(
      /^0\/3 nodes are available: 1 Insufficient cpu, 2 node\(s\) didn't satisfy plugin\(s\) \[NodeAffinity\]\. /,
    )
    expect(place(where, { cpu: '1', affinity: { nodeAffinity } })).toBe('a')
  })

  test('two pods with one host port need two nodes', async () => {
    const where = cluster(node('a'), node('b'))
    const two = [place(where, { hostPort: 80 }), place(where, { hostPort: 80 })]
    expect(two.toSorted()).toEqual(['a', 'b'])
    expect(await whyNot(where, { hostPort: 80 })).toContain(
      "2 node(s) didn't have free ports for the requested pod ports",
    )
    expect(place(where, { hostPort: 81 })).toBeDefined()
  })
})

describe('what counts as requested', () => {
  test('an init container and overhead count at their peak', () => {
    const resources = (cpu: string) => ({ resources: { requests: { cpu } } })
    const info = podInfoOf(
      pod({
        initContainers: [
          { name: 'proxy', restartPolicy: 'Always', ...resources('200m') },
          { name: 'init', ...resources('2') },
        ] as never,
        containers: [{ name: 'a', ...resources('500m') }, { name: 'b' }] as never,
        overhead: { cpu: '50m' },
      }),
    )
    expect(info.requests.milliCpu).toBe(2250)
  })

  test('a forgotten decision gives its room back, a confirmed one does not', () => {
    const where = cluster(node('a', { cpu: '1' }))
    const one = podInfoOf(pod({ name: 'one', cpu: '1' }))
    where.snapshot.assume(one, 'a')
    expect(place(where, { cpu: '1' })).toBeUndefined()
    where.snapshot.forget(one)
    where.snapshot.assume(one, 'a')
    where.snapshot.setPod({ ...one.pod, spec: { containers: [], ...one.pod.spec, nodeName: 'a' } })
    where.snapshot.forget(one)
    expect(place(where, { cpu: '1' })).toBeUndefined()
    where.snapshot.removePod(one.key)
    expect(place(where, { cpu: '1' })).toBe('a')
  })

  test('pods known before their node count once it comes', () => {
    const where = cluster()
    where.snapshot.setPod(pod({ cpu: '3', nodeName: 'late' }))
    expect(where.snapshot.nodes).toEqual([])
    where.snapshot.setNode(node('late'))
    expect(place(where, { cpu: '2' })).toBeUndefined()
    where.snapshot.removeNode('late')
    expect(where.snapshot.nodes).toEqual([])
  })
})
