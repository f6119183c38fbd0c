/** Metrics of work queues under upstream's names (upstream: component-base/metrics/prometheus/workqueue). */
import type { Clock } from '../component-base/clock.ts'
import type { Metrics } from '../component-base/metrics.ts'
import type { WorkQueueObserver } from './work-queue.ts'

/** Upper bounds in seconds, upstream's: from ten nanoseconds, ten times as long each. */
const buckets = Array.from({ length: 10 }, (_, index) => 10 ** (index - 8))

/** Declares the metrics and gives an observer for the queue of each name. */
export function createQueueObservers(
  metrics: Metrics,
  clock: Clock,
): (name: string) => WorkQueueObserver {
  const labels = ['name']
  const depth = metrics.gauge({ name: 'workqueue_depth', help: 'Keys that wait.', labels })
  const adds = metrics.counter({ name: 'workqueue_adds_total', help: 'Keys added.', labels })
  const retries = metrics.counter({ name: 'workqueue_retries_total', help: 'Retries.', labels })
  const waits = metrics.histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Time that a key waits, in seconds.',
    labels,
    buckets,
  })
  const work = metrics.histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'Time that work on a key takes, in seconds.',
    labels,
    buckets,
  })
  /** By queue, when the work on each key began. */
  const underWay = new Map<string, Map<string, number>>()
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
      help: 'Time that the work under way has taken so far, all keys together, in seconds.',
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
      help: 'Time that the longest work under way has taken so far, in seconds.',
      labels,
    },
    () => ages().map(({ name, seconds }) => ({ labels: [name], value: Math.max(0, ...seconds) })),
  )
  return (name) => {
    const mine = {
      depth: depth.with(name),
      adds: adds.with(name),
      retries: retries.with(name),
      waits: waits.with(name),
      work: work.with(name),
    }
    const waiting = new Map<string, number>()
    const started = underWay.get(name) ?? new Map<string, number>()
    underWay.set(name, started)
    return {
      added: (key) => {
        mine.adds.inc()
        mine.depth.inc()
        waiting.set(key, clock.now())
      },
      retried: () => mine.retries.inc(),
      started: (key) => {
        const now = clock.now()
        mine.depth.dec()
        mine.waits.observe((now - (waiting.get(key) ?? now)) / 1000)
        waiting.delete(key)
        started.set(key, now)
      },
      finished: (key) => {
        const now = clock.now()
        mine.work.observe((now - (started.get(key) ?? now)) / 1000)
        started.delete(key)
      },
    }
  }
}
