/** flow-series: what is observed of each request, by its flow schema and level (upstream: flowcontrol/metrics/metrics.go). */
import type { Histogram, Metrics } from '../../component-base/metrics.ts'

const prefix = 'apiserver_flowcontrol'
const labels = ['flow_schema', 'priority_level']
const secondsBuckets = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30]

/** The series of one flow schema and its level. */
export interface FlowSeries {
  estimated(seats: number): void
  watches(count: number): void
  enqueued(queueLength: number): void
  waited(seconds: number, isExecuted: boolean): void
  executed(seconds: number, isWatch: boolean): void
}

function histogramsOf(metrics: Metrics) {
  const declare = (
    name: string,
    more: {
      help: string
      buckets: readonly number[]
      label?: string
      stability?: 'ALPHA' | 'BETA'
    },
  ) => {
    const { help, buckets, label, stability = 'ALPHA' } = more
    const own = label === undefined ? labels : [...labels, label]
    return metrics.histogram({ name: `${prefix}_${name}`, help, buckets, stability, labels: own })
  }
  return {
    estimated: declare('work_estimated_seats', {
      help: 'Seats of requests, the most over both phases.',
      buckets: [1, 2, 4, 10],
    }),
    watches: declare('watch_count_samples', {
      help: 'Watches that mutating requests notify.',
      buckets: [0, 1, 10, 100, 1000, 10_000],
    }),
    enqueued: declare('request_queue_length_after_enqueue', {
      help: 'Length of the queue of each request, with it.',
      buckets: [0, 10, 25, 50, 100, 250, 500, 1000],
    }),
    waited: declare('request_wait_duration_seconds', {
      help: 'Seconds that requests waited in queues.',
      buckets: secondsBuckets,
      label: 'execute',
      stability: 'BETA',
    }),
    executed: declare('request_execution_seconds', {
      help: 'Seconds from the dispatch of a request until its answer, or until a watch has started.',
      buckets: secondsBuckets,
      label: 'type',
    }),
  }
}

/** Declares the metrics. A series is shown once something was observed. */
export function createFlowSeries(metrics: Metrics): (schema: string, level: string) => FlowSeries {
  const histograms = histogramsOf(metrics)
  return (schema, level) => {
    const lazy = (make: () => Histogram): ((value: number) => void) => {
      let made: Histogram | undefined
      return (value) => (made ??= make()).observe(value)
    }
    const { estimated, watches, enqueued, waited, executed } = histograms
    const waitedExecuted = lazy(() => waited.with(schema, level, 'true'))
    const waitedRejected = lazy(() => waited.with(schema, level, 'false'))
    const executedWatch = lazy(() => executed.with(schema, level, 'watch'))
    const executedRegular = lazy(() => executed.with(schema, level, 'regular'))
    return {
      estimated: lazy(() => estimated.with(schema, level)),
      watches: lazy(() => watches.with(schema, level)),
      enqueued: lazy(() => enqueued.with(schema, level)),
      waited: (seconds, isExecuted) => (isExecuted ? waitedExecuted : waitedRejected)(seconds),
      executed: (seconds, isWatch) => (isWatch ? executedWatch : executedRegular)(seconds),
    }
  }
}
