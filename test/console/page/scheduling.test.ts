/** What the page makes of pods that wait, of the scheduler's verdicts, and of quotas and budgets. */
import { describe, expect, test } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import type { ExplainedNode } from '../../../components/api/pod-explanation.ts'
import { budgetRooms, quotaRooms } from '../../../console/page/views/scheduling/room.ts'
import {
  inOrder,
  refusalText,
  rejections,
  scoringPlugins,
} from '../../../console/page/views/scheduling/verdicts.ts'
import { waitingPods } from '../../../console/page/views/scheduling/waiting-pods.ts'
import type { SlimEvent } from '../../../console/protocol/live.ts'

const containers = [{ name: 'a' }]
const pod = (name: string, more: Partial<Pod> = {}): Pod => ({
  ...more,
  metadata: {
    namespace: 'shop',
    name,
    creationTimestamp: '2026-11-22T12:00:00Z',
    ...more.metadata,
  },
  spec: { containers, ...more.spec },
})
const unschedulable = (message: string, more: object = {}) => ({
  ...more,
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
})
const failed = (name: string, count: number): SlimEvent => ({
  ...{ key: `shop/${name}.1`, atMs: 1, type: 'Warning', reason: 'FailedScheduling' },
  ...{ regarding: `Pod shop/${name}`, message: 'no', count },
})

describe('pods that wait', () => {
  test('show why: gates, nomination, no room, or not tried yet', () => {
    const pods = [
      pod('gated', { spec: { containers, schedulingGates: [{ name: 'example.com/wait' }] } }),
      pod('nominated', { status: unschedulable('no room', { nominatedNodeName: 'n1' }) }),
      pod('large', { status: unschedulable('0/2 nodes are available') }),
      pod('new'),
    ]
    const shown = waitingPods(pods, [failed('large', 3), failed('large', 2)])
    expect(shown.map(({ key, state }) => `${key} ${state}`)).toEqual([
      'shop/gated gated',
      'shop/nominated nominated',
      'shop/large unschedulable',
      'shop/new queued',
    ])
    expect(shown[0]?.queue).toBe('held back by example.com/wait')
    expect(shown[1]?.nominatedNode).toBe('n1')
    expect(shown[2]).toMatchObject({ message: '0/2 nodes are available', attempts: 5 })
  })

  test('are in the order of the queue: priority, then age', () => {
    const old = { creationTimestamp: '2026-11-22T11:00:00Z' }
    const pods = [
      pod('young'),
      pod('old', { metadata: old }),
      pod('important', { spec: { containers, priority: 10 } }),
    ]
    expect(waitingPods(pods, []).map(({ key }) => key)).toEqual([
      'shop/important',
      'shop/old',
      'shop/young',
    ])
  })

  test('leave out pods that are bound, deleted or have ended', () => {
    const pods = [
      pod('bound', { spec: { containers, nodeName: 'n1' } }),
      pod('leaving', { metadata: { deletionTimestamp: '2026-11-22T12:01:00Z' } }),
      pod('ended', { status: { phase: 'Failed' } }),
    ]
    expect(waitingPods(pods, [])).toEqual([])
  })
})

describe('verdicts', () => {
  const refused = (node: string, plugin: string): ExplainedNode => ({
    ...{ node, plugin, fits: false, reasons: ['no'], resolvable: true },
  })
  const fitting = (node: string, total: number): ExplainedNode => ({
    ...{ node, total, fits: true },
    scores: [
      { plugin: 'ImageLocality', score: 0, weight: 1 },
      { plugin: 'TaintToleration', score: total, weight: 3 },
    ],
  })
  const nodes = [
    refused('n10', 'NodeName'),
    refused('n2', 'NodeName'),
    refused('n1', 'TaintToleration'),
    fitting('n3', 50),
    fitting('n4', 80),
    fitting('n5', 80),
  ]

  test('begin with the chosen node, then the best, then refusals by plugin', () => {
    const shown = inOrder({ schedulerName: 'default-scheduler', nodes, chosen: 'n5' })
    expect(shown.map(({ node }) => node)).toEqual(['n5', 'n4', 'n3', 'n2', 'n10', 'n1'])
  })

  test('count what rejects most, and name plugins by weight', () => {
    expect(rejections(nodes)).toEqual([
      ['NodeName', 2],
      ['TaintToleration', 1],
    ])
    expect(scoringPlugins(nodes)).toEqual(['TaintToleration', 'ImageLocality'])
  })

  test('tell what is short, what else rejects, and when eviction would not help', () => {
    const text = refusalText({
      ...{ node: 'n', fits: false, plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu'] },
      resolvable: false,
      shortages: [{ resource: 'cpu', requested: '64', free: '2' }],
      others: [{ plugin: 'NodeAffinity', reasons: ['no match'] }],
    })
    expect(text).toEqual([
      'NodeResourcesFit: Insufficient cpu',
      'cpu: 64 requested, 2 free',
      'also NodeAffinity: no match',
      'evicting pods would not help',
    ])
  })
})

describe('room', () => {
  test('of quotas compares quantities of any suffix', () => {
    const status = {
      hard: { memory: '1Gi', pods: '4', 'count/secrets': '0', cpu: '1' },
      used: { memory: '512Mi', pods: '4', 'count/secrets': '0', cpu: '900m' },
    }
    const rooms = quotaRooms([{ metadata: { namespace: 'shop', name: 'q' }, status }])
    expect(rooms.map(({ label, share, tone }) => [label, share, tone])).toEqual([
      ['memory', 0.5, 'good'],
      ['pods', 1, 'bad'],
      ['count/secrets', 1, 'bad'],
      ['cpu', 0.9, 'warn'],
    ])
    expect(rooms[0]).toMatchObject({ title: 'shop/q', text: '512Mi of 1Gi' })
  })

  test('of budgets shows how many evictions are allowed', () => {
    const budget = (current: number, allowed: number) => ({
      metadata: { namespace: 'shop', name: 'b' },
      status: {
        ...{ currentHealthy: current, desiredHealthy: 2, expectedPods: 4 },
        disruptionsAllowed: allowed,
      },
    })
    const shown = budgetRooms([budget(3, 1), budget(2, 0), budget(1, 0)])
    expect(shown.map(({ share, tone }) => [share, tone])).toEqual([
      [0.75, 'good'],
      [0.5, 'warn'],
      [0.25, 'bad'],
    ])
    expect(shown[0]?.text).toBe('3 of 4 healthy, 2 needed: 1 eviction allowed')
  })
})
