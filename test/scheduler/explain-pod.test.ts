/** What `explainPod` says of a pod: refusals by plugin, scores, preemption; and that it changes nothing. */
import { expect, test } from 'vitest'
import { explainPod } from '../../components/scheduler/explain-pod.ts'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import type { PodWishes } from './build.ts'
import { cluster, node, pod } from './build.ts'

const taints = [{ key: 'dedicated', value: 'db', effect: 'NoSchedule' }]

function explain({ profile, snapshot }: ReturnType<typeof cluster>, wishes: PodWishes) {
  return explainPod({ pod: podInfoOf(pod(wishes)), profile, snapshot })
}

test('each node has the plugin that rejects it, and the message is that of an attempt', async () => {
  const where = cluster(node('small', { cpu: '1' }), node('tainted', { taints }))
  expect(await explain(where, { cpu: '2' })).toEqual({
    schedulerName: 'default-scheduler',
    nodes: [
      {
        node: 'small',
        fits: false,
        plugin: 'NodeResourcesFit',
        reasons: ['Insufficient cpu'],
        resolvable: true,
        shortages: [{ resource: 'cpu', requested: '2', free: '1' }],
      },
      {
        node: 'tainted',
        fits: false,
        plugin: 'TaintToleration',
        reasons: ['node(s) had untolerated taint {dedicated: db}'],
        resolvable: false,
      },
    ],
    message:
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {dedicated: db}. ' +
      'preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, ' +
      '1 Preemption is not helpful for scheduling.',
  })
})

test('every plugin that rejects a node is named, the deciding one first, and how much is missing', async () => {
  const where = cluster(node('a', { cpu: '2', memory: '1Gi', taints, unschedulable: true }))
  where.snapshot.setPod(pod({ nodeName: 'a', cpu: '1500m', memory: '512Mi' }))
  const { nodes } = await explain(where, { cpu: '1', memory: '768Mi' })
  expect(nodes).toEqual([
    {
      node: 'a',
      fits: false,
      plugin: 'NodeUnschedulable',
      reasons: ['node(s) were unschedulable'],
      resolvable: false,
      others: [
        {
          plugin: 'TaintToleration',
          reasons: ['node(s) had untolerated taint {dedicated: db}'],
        },
        { plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu', 'Insufficient memory'] },
      ],
      shortages: [
        { resource: 'cpu', requested: '1', free: '500m' },
        { resource: 'memory', requested: '768Mi', free: '512Mi' },
      ],
    },
  ])
})

test('a node that fits has its scores, which add up, and the best is chosen', async () => {
  const where = cluster(node('full'), node('empty'), node('tainted', { taints }))
  where.snapshot.setPod(pod({ nodeName: 'full', cpu: '3' }))
  const { nodes, chosen } = await explain(where, { cpu: '1' })
  expect(chosen).toBe('empty')
  const empty = nodes.find((each) => each.node === 'empty')
  if (empty?.fits !== true) throw new Error('it fits')
  expect(empty.scores.map(({ plugin }) => plugin)).toContain('NodeResourcesBalancedAllocation')
  const sum = empty.scores.reduce((total, { score, weight }) => total + score * weight, 0)
  expect(empty.total).toBe(sum)
  expect(nodes.find((each) => each.node === 'tainted')?.fits).toBe(false)
})

test('the eviction that would help is named, and nobody is evicted or nominated', async () => {
  const where = cluster(node('a'))
  where.snapshot.setPod(pod({ name: 'low', nodeName: 'a', cpu: '4', priority: 1 }))
  const wishes = { name: 'high', cpu: '1', priority: 5 }
  const first = await explain(where, wishes)
  expect(first.preemption).toEqual({ node: 'a', victims: ['default/low'] })
  expect(await explain(where, wishes)).toEqual(first)
  expect(where.snapshot.nodeOf('default/low')).toBe('a')
})

test('a gated pod is explained by its gates', async () => {
  const where = cluster(node('a'))
  expect(await explain(where, { schedulingGates: [{ name: 'example.com/wait' }] })).toEqual({
    schedulerName: 'default-scheduler',
    gatedBy: {
      plugin: 'SchedulingGates',
      reasons: ['waiting for scheduling gates: [example.com/wait]'],
    },
    nodes: [],
  })
})

test('without any node says so', async () => {
  expect((await explain(cluster(), {})).message).toBe('no nodes available to schedule pods')
})
