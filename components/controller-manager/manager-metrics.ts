/** The controller manager's metrics: those of any process, of its requests, queues, controllers and feature gates, and whether it leads. */
import type { Dialect } from '../api/dialect.ts'
import { declareFeatureGates } from '../api/feature-gate-metrics.ts'
import type { FeatureGates } from '../api/feature-gates.ts'
import { servedRelease } from '../api/lifecycle.ts'
import { createRestObserver } from '../client/rest-metrics.ts'
import type { RestObserver } from '../client/rest-observer.ts'
import { createQueueObservers } from '../client/work-queue-metrics.ts'
import type { WorkQueueObserver } from '../client/work-queue.ts'
import type { Clock } from '../component-base/clock.ts'
import { createMetrics, declareProcessMetrics } from '../component-base/metrics.ts'
import type { Gauge, Metrics } from '../component-base/metrics.ts'
import { declareControllerMetrics } from './controller-metrics.ts'
import type { ControllerMetrics } from './controller-metrics.ts'

export interface ManagerMetrics {
  readonly metrics: Metrics
  /** Of the queue of that name. */
  readonly observerOf: (name: string) => WorkQueueObserver
  /** Of the clients' requests. */
  readonly requests: RestObserver
  readonly controllers: ControllerMetrics
  readonly isLeading: Gauge
}

export function createManagerMetrics(options: {
  readonly showHidden: boolean
  readonly leaseName: string
  readonly gates: FeatureGates
  readonly dialect: Dialect
  readonly clock: Clock
}): ManagerMetrics {
  const metrics = createMetrics({ release: servedRelease, showHidden: options.showHidden })
  declareProcessMetrics(metrics)
  declareFeatureGates(metrics, options.gates)
  const observerOf = createQueueObservers(metrics, options.clock)
  const requests = createRestObserver(metrics, options.clock)
  const controllers = declareControllerMetrics(metrics, options.dialect)
  const isLeading = metrics
    .gauge({
      name: 'leader_election_master_status',
      help: 'Whether this process leads: 1 leads, 0 stands by.',
      labels: ['name'],
    })
    .with(options.leaseName)
  return { metrics, observerOf, requests, controllers, isLeading }
}
