/** level-metrics: what is observed of priority levels over time (upstream: flowcontrol/metrics/metrics.go). */
import type { Clock } from '../../component-base/clock.ts'
import type { Histogram, Metrics } from '../../component-base/metrics.ts'
import type { QueueSetGauges } from './queue-set-gauges.ts'
import { SeatIntegrator } from './seat-integrator.ts'
import { TimingRatio } from './timing-ratio.ts'

const seatBuckets = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1]
const requestBuckets = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1]
const kindBuckets = [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1]
const demandBuckets = [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6]

/** Reading and mutating requests of all levels. */
export interface KindGauges {
  readonly waiting: TimingRatio
  readonly executing: TimingRatio
}

export interface LevelMetrics {
  /** The gauges of a level, which begin now. */
  gaugesOf(level: string): QueueSetGauges
  readonly reading: KindGauges
  readonly mutating: KindGauges
}

/** Ratios whose time is observed up to the moment in which they are shown. */
function ratiosOf(metrics: Metrics, clock: Pick<Clock, 'elapsed'>) {
  return (options: {
    name: string
    help: string
    labels: readonly string[]
    buckets: readonly number[]
  }): ((...values: string[]) => TimingRatio) => {
    const ratios = new Map<Histogram, TimingRatio>()
    const family = metrics.histogram({
      ...options,
      refresh: () => {
        for (const ratio of ratios.values()) ratio.observe(clock.elapsed())
      },
    })
    return (...values) => {
      const histogram = family.with(...values)
      // A level that was deleted and comes again goes on with its histogram.
      const ratio = new TimingRatio(histogram, clock.elapsed())
      ratios.set(histogram, ratio)
      return ratio
    }
  }
}

export function createLevelMetrics(metrics: Metrics, clock: Pick<Clock, 'elapsed'>): LevelMetrics {
  const declare = ratiosOf(metrics, clock)
  const seats = declare({
    name: 'apiserver_flowcontrol_priority_level_seat_utilization',
    help: 'Nanoseconds by the part of its limit of seats that a priority level used.',
    labels: ['phase', 'priority_level'],
    buckets: seatBuckets,
  })
  const requests = declare({
    name: 'apiserver_flowcontrol_priority_level_request_utilization',
    help: 'Nanoseconds by the number of requests of a priority level, as a part of what may wait or execute.',
    labels: ['phase', 'priority_level'],
    buckets: requestBuckets,
  })
  const kinds = declare({
    name: 'apiserver_flowcontrol_read_vs_write_current_requests',
    help: 'Nanoseconds by the number of reading or mutating requests, as a part of what may wait or execute.',
    labels: ['phase', 'request_kind'],
    buckets: kindBuckets,
  })
  const demand = declare({
    name: 'apiserver_flowcontrol_demand_seats',
    help: 'Nanoseconds by the seats that a priority level could use, as a part of its limit.',
    labels: ['priority_level'],
    buckets: demandBuckets,
  })
  const kindOf = (kind: string): KindGauges => ({
    waiting: kinds('waiting', kind),
    executing: kinds('executing', kind),
  })
  return {
    gaugesOf: (level) => ({
      waiting: requests('waiting', level),
      executing: requests('executing', level),
      seats: seats('executing', level),
      demand: new SeatIntegrator(clock.elapsed()),
      demandRatio: demand(level),
    }),
    reading: kindOf('readOnly'),
    mutating: kindOf('mutating'),
  }
}
