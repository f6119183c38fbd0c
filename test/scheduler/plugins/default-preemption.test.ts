/** DefaultPreemption: whom it takes, which node it prefers, and what budgets and bounds change. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PodDisruptionBudget } from '../../../components/api/generated/types.ts'
import { podInfoOf } from '../../../components/scheduler/pod-info.ts'
import type { FailedAttempt } from '../../../components/scheduler/plugin.ts'
import { findCandidates } from '../../../components/scheduler/plugins/default-preemption.ts'
import type { PodWishes } from '../build.ts'
import { clusterWith, node, pod } from '../build.ts'

type Running = {
  name: string
  on: string
  cpu: string
  priority: number
  started?: string
  app?: string
}

function budget(app: string, disruptionsAllowed: number): PodDisruptionBudget {
  return {
    metadata: { name: app, namespace: 'default' },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  }
}

function cluster(
  nodes: readonly string[],
  running: readonly Running[],
  budgets: readonly PodDisruptionBudget[] = [],
) {
  const objects = { poddisruptionbudgets: budgets }
  const where = clusterWith({ objects }, ...nodes.map((name) => node(name)))
  for (const { name, on, cpu, priority, started, app } of running) {
    const made = pod({ name, nodeName: on, cpu, priority })
    if (app !== undefined) made.metadata.labels = { app }
    where.snapshot.setPod({
      ...made,
      status: { ...made.status, startTime: started ?? '2025-01-01T00:00:00Z' },
    })
  }
  return where
}

async function evicted(
  where: ReturnType<typeof cluster>,
  wishes: PodWishes = { cpu: '4', priority: 100 },
) {
  const result = await where.postFilter(podInfoOf(pod(wishes)))
  if (!result.ok) return result.message
  return `${result.eviction.nodeName}: ${result.eviction.victims.map(({ pod: { metadata } }) => metadata.name).join(' ')}`
}

describe('the node of choice', () => {
  const cases: [string, Running[], PodDisruptionBudget[], string][] = [
    [
      'violates the fewest budgets',
      [
        { name: 'a', on: 'n1', cpu: '4', priority: 1, app: 'kept' },
        { name: 'b', on: 'n2', cpu: '4', priority: 50 },
      ],
      [budget('kept', 0)],
      'n2: b',
    ],
    [
      'has the least important victim',
      [
        { name: 'a', on: 'n1', cpu: '4', priority: 9 },
        { name: 'b', on: 'n2', cpu: '4', priority: 5 },
      ],
      [],
      'n2: b',
    ],
    [
      'has the smallest sum of priorities',
      [
        { name: 'a', on: 'n1', cpu: '2', priority: 9 },
        { name: 'b', on: 'n1', cpu: '2', priority: 8 },
        { name: 'c', on: 'n2', cpu: '2', priority: 9 },
        { name: 'd', on: 'n2', cpu: '2', priority: 1 },
      ],
      [],
      'n2: c d',
    ],
    [
      'has the fewest victims',
      [
        { name: 'a', on: 'n1', cpu: '2', priority: 0 },
        { name: 'b', on: 'n1', cpu: '2', priority: 0 },
        { name: 'c', on: 'n2', cpu: '4', priority: 0 },
      ],
      [],
      'n2: c',
    ],
    [
      'has the victim that runs the shortest',
      [
        { name: 'a', on: 'n1', cpu: '4', priority: 0 },
        { name: 'b', on: 'n2', cpu: '4', priority: 0, started: '2025-02-01T00:00:00Z' },
      ],
      [],
      'n2: b',
    ],
  ]
  test.each(cases)('%s', async (_title, running, budgets, expected) => {
    expect(await evicted(cluster(['n1', 'n2'], running, budgets))).toBe(expected)
  })
})

test('on a node, pods that a budget protects and important ones stay if they can', async () => {
  const running = [
    { name: 'kept', on: 'n', cpu: '2', priority: 1, app: 'kept' },
    { name: 'other', on: 'n', cpu: '2', priority: 5 },
  ]
  expect(await evicted(cluster(['n'], running), { cpu: '2', priority: 9 })).toBe('n: kept')
  const where = cluster(['n'], running, [budget('kept', 0)])
  expect(await evicted(where, { cpu: '2', priority: 9 })).toBe('n: other')
})

test('a budget is violated only when nothing else helps', async () => {
  const where = cluster(
    ['n'],
    [{ name: 'kept', on: 'n', cpu: '4', priority: 1, app: 'kept' }],
    [budget('kept', 0)],
  )
  expect(await evicted(where)).toBe('n: kept')
})

describe('a pod that may not preempt', () => {
  test('by its policy says so', async () => {
    const where = cluster(['n'], [{ name: 'a', on: 'n', cpu: '4', priority: 1 }])
    expect(await evicted(where, { cpu: '4', priority: 9, preemptionPolicy: 'Never' })).toBe(
      'preemption: not eligible due to preemptionPolicy=Never.',
    )
  })

  test('while its victims end waits for them', async () => {
    const where = cluster(['n'], [])
    const victim = pod({ name: 'going', nodeName: 'n', cpu: '4', priority: 1 })
    victim.metadata.deletionTimestamp = '2025-01-01T00:00:00Z'
    const conditions = [
      { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' },
    ]
    where.snapshot.setPod({ ...victim, status: { conditions } } as typeof victim)
    const waiting = pod({ cpu: '4', priority: 9 })
    const info = podInfoOf({ ...waiting, status: { nominatedNodeName: 'n' } })
    expect(await where.postFilter(info)).toEqual({
      ok: false,
      message: 'preemption: not eligible due to a terminating pod on the nominated node.',
      keepsNomination: true,
    })
  })
})

test('the dry run ends with enough candidates, and goes on while all of them violate budgets', () => {
  const names = Array.from({ length: 20 }, (_, i) => `n${i}`)
  const running = names.map((on, i) => ({
    name: `p${i}`,
    on,
    cpu: '4',
    priority: 1,
    app: i < 15 ? 'kept' : 'free',
  }))
  const { snapshot, profile, findNode } = cluster(names, running)
  const info = podInfoOf(pod({ cpu: '4', priority: 9 }))
  const decision = findNode(info)
  if (decision.ok) throw new Error('it fits')
  const attempt: FailedAttempt = {
    pod: info,
    snapshot,
    filters: profile.filters,
    diagnosis: decision.diagnosis,
  }
  const count = (percentage: number, absolute: number, budgets: PodDisruptionBudget[]) => {
    const args = { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute }
    return findCandidates(attempt, { args, budgets, offset: 0 }).candidates.length
  }
  expect(count(10, 0, [])).toBe(2)
  expect(count(10, 5, [])).toBe(5)
  expect(count(10, 100, [])).toBe(20)
  expect(count(10, 0, [budget('kept', 0)])).toBe(16)
})

test('a victim is always less important, enough room comes free, and no budget breaks where another node would do', async () => {
  const oneRunning = fc.record({
    on: fc.constantFrom('n0', 'n1', 'n2'),
    milliCpu: fc.integer({ min: 500, max: 4000 }),
    priority: fc.integer({ min: 0, max: 5 }),
    isKept: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(oneRunning, { maxLength: 9 }),
      fc.integer({ min: 500, max: 4000 }),
      fc.integer({ min: 0, max: 6 }),
      async (wishes, milliCpu, priority) => {
        const used = new Map<string, number>()
        const running = wishes.flatMap((each, i) => {
          const sum = (used.get(each.on) ?? 0) + each.milliCpu
          if (sum > 4000) return []
          used.set(each.on, sum)
          return [
            {
              ...each,
              name: `p${i}`,
              cpu: `${each.milliCpu}m`,
              app: each.isKept ? 'kept' : 'free',
            },
          ]
        })
        const where = cluster(['n0', 'n1', 'n2'], running, [budget('kept', 0)])
        const info = podInfoOf(pod({ cpu: `${milliCpu}m`, priority }))
        if (where.findNode(info).ok) return
        const result = await where.postFilter(info)
        // By plain recount: does a node make room without any pod of the budget?
        const roomOn = (on: string, mayGo: (each: (typeof running)[number]) => boolean) =>
          4000 -
          running
            .filter((each) => each.on === on && !mayGo(each))
            .reduce((sum, each) => sum + each.milliCpu, 0)
        const nodes = ['n0', 'n1', 'n2']
        const isLower = (each: (typeof running)[number]) => each.priority < priority
        expect(result.ok).toBe(nodes.some((on) => roomOn(on, isLower) >= milliCpu))
        if (!result.ok) return
        const victims = new Set(
          result.eviction.victims.map(({ pod: { metadata } }) => metadata.name),
        )
        for (const victim of result.eviction.victims) expect(victim.priority).toBeLessThan(priority)
        expect(
          roomOn(result.eviction.nodeName, ({ name }) => victims.has(name)),
        ).toBeGreaterThanOrEqual(milliCpu)
        const isHarmless = nodes.some(
          (on) => roomOn(on, (each) => isLower(each) && !each.isKept) >= milliCpu,
        )
        const breaks = running.some(({ name, isKept }) => isKept && victims.has(name))
        if (isHarmless) expect(breaks).toBe(false)
      },
    ),
    { numRuns: 200 },
  )
})
