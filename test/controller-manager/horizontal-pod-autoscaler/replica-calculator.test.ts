/** How many replicas a metric asks for: tables of pods and values. */
import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import {
  averageReplicas,
  sharedReplicas,
  totalReplicas,
  utilizationReplicas,
} from '../../../components/controller-manager/horizontal-pod-autoscaler/replica-calculator.ts'

const nowMs = Date.parse('2025-01-01T01:00:00Z')
const settings = { tolerance: 0.1, cpuInitializationMs: 300_000, initialReadinessMs: 30_000 }
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString()

/** A pod by its state: `ok`, `pending`, `failed`, `ending`, `starting` (unready, young), `never` (never ready), `lost`. */
function podOf(name: string, state: string): Pod {
  const startedAgo = state === 'starting' ? 60 : 1800
  const isReady = !['starting', 'never', 'lost'].includes(state)
  const changedAgo = { never: 1790, lost: 600, starting: 50 }[state] ?? 1700
  const phase = { pending: 'Pending', failed: 'Failed' }[state] ?? 'Running'
  return {
    metadata: { name, ...(state === 'ending' ? { deletionTimestamp: at(1) } : {}) },
    spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] },
    status: {
      phase,
      startTime: at(startedAgo),
      conditions: [
        {
          type: 'Ready',
          status: isReady ? 'True' : 'False',
          lastTransitionTime: at(changedAgo),
        },
      ],
    },
  }
}

/** Pods as `ok 300`, or `ok` for one without a metric. */
function measure(rows: readonly string[], resource: string | undefined = 'cpu') {
  const entries = rows.map((row, i) => {
    const [state = '', value] = row.split(' ')
    return { pod: podOf(`p${i}`, state), value }
  })
  const metrics = new Map(
    entries.flatMap(({ pod, value }) =>
      value === undefined
        ? []
        : [
            [
              pod.metadata.name ?? '',
              { value: Number(value), timestampMs: nowMs - 1000, windowMs: 60_000 },
            ] as const,
          ],
    ),
  )
  return {
    pods: entries.map(({ pod }) => pod),
    metrics,
    currentReplicas: rows.length,
    ...(resource === undefined ? {} : { resource }),
    settings,
    nowMs,
  }
}

describe('a target of a share of the requests', () => {
  it.each<[string, string[], number, number]>([
    ['scales up', ['ok 300', 'ok 500', 'ok 700'], 30, 5],
    ['scales down', ['ok 100', 'ok 300', 'ok 500', 'ok 250', 'ok 250'], 50, 3],
    ['stays within the tolerance', ['ok 540', 'ok 540'], 50, 2],
    ['counts a pending pod as idle on the way up', ['ok 500', 'ok 700', 'pending'], 30, 4],
    ['counts a starting pod as idle on the way up', ['ok 500', 'ok 700', 'starting 1000'], 30, 4],
    ['counts a pod that was never ready as idle', ['ok 500', 'ok 700', 'never 1000'], 30, 4],
    ['counts a pod that was ready once', ['ok 300', 'ok 300', 'lost 900'], 50, 3],
    [
      'leaves failed and ending pods out',
      ['ok 500', 'ok 700', 'failed 9000', 'ending 9000'],
      30,
      4,
    ],
    ['counts a missing pod as full on the way down', ['ok 400', 'ok 400', 'ok'], 90, 2],
    ['counts a missing pod as idle on the way up', ['ok 900', 'ok 900', 'ok'], 50, 4],
    ['does not turn for a guess', ['ok 600', 'ok', 'ok'], 50, 3],
    ['bears a negative value', ['ok -5000'], 50, 0],
    ['bears a value without bounds', ['ok 1e30'], 50, 2 ** 31 - 1],
  ])('%s', (_, rows, target, replicas) => {
    expect(utilizationReplicas(measure(rows), target).replicas).toBe(replicas)
  })

  it.each<[string, string[], string]>([
    ['no pods', [], 'no pods returned by selector while calculating replica count'],
    [
      'no pod that counts',
      ['pending 5', 'starting 7'],
      'did not receive metrics for targeted pods (pods might be unready)',
    ],
  ])('fails for %s', (_, rows, message) => {
    expect(() => utilizationReplicas(measure(rows), 50)).toThrow(message)
  })

  it('fails for a container that requests nothing, and counts one container alone', () => {
    const measured = measure(['ok 300'])
    const [pod] = measured.pods
    pod!.spec!.containers.push({ name: 'bare' })
    expect(() => utilizationReplicas(measured, 50)).toThrow(
      'missing request for cpu in container bare of Pod p0',
    )
    const alone = { ...measured, container: 'c' }
    expect(utilizationReplicas(alone, 15)).toEqual({ replicas: 2, usage: 300, utilization: 30 })
  })
})

describe('other targets', () => {
  it.each<[string[], number, number]>([
    [['ok 100', 'ok 300'], 100, 4],
    [['ok 100', 'ok 100', 'ok 100', 'ok 100'], 200, 2],
    [['ok 100', 'ok 100', 'ok'], 200, 2],
    // Memory and custom metrics count from unready pods too.
    [['ok 100', 'starting 300'], 100, 4],
  ])('the average of %j to %d asks for %d', (rows, target, replicas) => {
    expect(averageReplicas(measure(rows, 'memory'), target).replicas).toBe(replicas)
  })

  it.each<[number, number, number, number]>([
    [20_000, 10_000, 3, 6],
    [10_500, 10_000, 3, 3],
    [20_000, 10_000, 0, 2],
  ])('a total of %d to %d with %d replicas asks for %d', (total, target, current, replicas) => {
    const { pods } = measure(Array.from({ length: current }, () => 'ok'))
    const of = { pods, currentReplicas: current, tolerance: 0.1 }
    expect(totalReplicas(total, target, of).replicas).toBe(replicas)
  })

  it.each<[number, number, number, number, number]>([
    [8600, 2150, 3, 4, 2867],
    [8600, 2867, 3, 3, 2867],
    [8600, 2150, 0, 4, 8600],
  ])('%d shared by %d with %d replicas asks for %d', (total, target, now, replicas, usage) => {
    const of = { statusReplicas: now, tolerance: 0.1 }
    expect(sharedReplicas(total, target, of)).toEqual({ replicas, usage })
  })
})
