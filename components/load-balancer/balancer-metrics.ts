/** Metrics of the load balancer. */
import { servedRelease } from '../api/lifecycle.ts'
import { createMetrics, declareProcessMetrics } from '../component-base/metrics.ts'
import type { Counter, Family, Metrics } from '../component-base/metrics.ts'
import type { BackendSet } from './backend-set.ts'

export interface BalancerMetrics {
  readonly metrics: Metrics
  /** By backend. */
  readonly connections: Family<Counter>
  /** By backend: connections that could not be made. */
  readonly failures: Family<Counter>
  /** By backend and result. */
  readonly checks: Family<Counter>
  /** By reason: `full`, or `no_backend`. */
  readonly rejected: Family<Counter>
  /** By direction: `in` from clients, `out` to them. */
  readonly bytes: Family<Counter>
}

export function createBalancerMetrics(backends: BackendSet): BalancerMetrics {
  const metrics = createMetrics({ release: servedRelease })
  declareProcessMetrics(metrics)
  const labels = ['backend']
  metrics.observed(
    {
      kind: 'gauge',
      name: 'load_balancer_backend_ready',
      help: '1 for a backend that gets new connections.',
      labels,
    },
    () => backends.all.map(({ name, isReady }) => ({ labels: [name], value: isReady ? 1 : 0 })),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: 'load_balancer_open_connections',
      help: 'Open connections to a backend of the file.',
      labels,
    },
    () => backends.all.map(({ name, connections }) => ({ labels: [name], value: connections })),
  )
  return {
    metrics,
    connections: metrics.counter({
      name: 'load_balancer_connections_total',
      help: 'Connections that were passed on to a backend.',
      labels,
    }),
    failures: metrics.counter({
      name: 'load_balancer_connection_failures_total',
      help: 'Connections to a backend that could not be made; the next backend was tried.',
      labels,
    }),
    checks: metrics.counter({
      name: 'load_balancer_checks_total',
      help: 'Readiness checks, by result.',
      labels: ['backend', 'result'],
    }),
    rejected: metrics.counter({
      name: 'load_balancer_rejected_connections_total',
      help: 'Connections of clients that were closed at once, by reason.',
      labels: ['reason'],
    }),
    bytes: metrics.counter({
      name: 'load_balancer_bytes_total',
      help: 'Bytes that were passed on, counted when a connection ends; "in" is from clients, "out" to them.',
      labels: ['direction'],
    }),
  }
}
