/** Metrics of work queues under upstream's names (upstream: component-base/metrics/prometheus/workqueue). */
import type { Clock } from '../component-base/clock.ts'
import { exponentialBuckets } from '../component-base/metrics.ts'
import type { Metrics } from '../component-base/metrics.ts'
import type { WorkQueueObserver } from './work-queue.ts'

/** Upper bounds in seconds, upstream's: from ten nanoseconds, ten times as long each. */
const buckets = exponentialBuckets(10e-9, 10, 10)
const labels = ['name']

/** By queue, when the work on each key began. */
type UnderWay = Map<string, Map<string, number>>

/** Declares the metrics and gives an observer for the queue of each name. */
export function createQueueObservers(
  metrics: Metrics,
  clock: Clock,
): (name: string) => WorkQueueObserver {
  const underWay: UnderWay = new Map()
  const families = declareFamilies(metrics)
  declareAges(metrics, clock, underWay)
  return (name) => {
    const depth = families.depth.with(name)
    const adds = families.adds.with(name)
    const retries = families.retries.with(name)
    const waits = families.waits.with(name)
    const work = families.work.with(name)
    const waiting = new Map<string, number>()
    const started = underWay.get(name) ?? new Map<string, number>()
    underWay.set(name, started)
    return {
      added: (key) => {
        adds.inc()
        depth.inc()
        waiting.set(key, clock.now())
      },
      retried: () => retries.inc(),
      started: (key) => {
        const now = clock.now()
        depth.dec()
        waits.observe((now - (waiting.get(key) ?? now)) / 1000)
        waiting.delete(key)
        started.set(key, now)
      },
      finished: (key) => {
        const now = clock.now()
        work.observe((now - (started.get(key) ?? now)) / 1000)
        started.delete(key)
      },
    }
  }
}

function declareFamilies(metrics: Metrics) {
  return {
    depth: metrics.gauge({ name: 'workqueue_depth', help: 'Keys in the queue.', labels }),
    adds: metrics.counter({
      name: 'workqueue_adds_total',
      help: 'Keys added to the queue.',
      labels,
    }),
    retries: metrics.counter({
      name: 'workqueue_retries_total',
      help: 'Keys added again after a failure.',
      labels,
    }),
    waits: metrics.histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'Time that a key spends in the queue, in seconds.',
      labels,
      buckets,
    }),
    work: metrics.histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'Time that a key takes to process, in seconds.',
      labels,
      buckets,
    }),
  }
}

/** Declares the metrics of the work under way, which are computed when they are read. */
function declareAges(metrics: Metrics, clock: Clock, underWay: UnderWay): void {
  const ages = (): { name: string; seconds: number[] }[] => {
    const now = clock.now()
    return [...underWay].map(([name, started]) => ({
      name,
      seconds: [...started.values()].map((startedMs) => (now - startedMs) / 1000),
    }))
  }
  metrics.observed(
    {
      kind: 'gauge',
      name: 'workqueue_unfinished_work_seconds',
      help: 'Sum of the time that unfinished keys have been in process, in seconds.',
      labels,
    },
    () =>
      ages().map(({ name, seconds }) => ({
        labels: [name],
        value: seconds.reduce((sum, one) => sum + one, 0),
      })),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: 'workqueue_longest_running_processor_seconds',
      help: 'Time that the longest-running key has been in process, in seconds.',
      labels,
    },
    () => ages().map(({ name, seconds }) => ({ labels: [name], value: Math.max(0, ...seconds) })),
  )
}
