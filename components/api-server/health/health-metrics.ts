/**
 * health-metrics: /metrics/slis, each health check's last result and the count of each result (upstream: component-base
 * metrics/prometheus/slis).
 */
import { createMetrics } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { metricsRelease } from '../discovery/version.ts'

export interface HealthMetrics {
  observe(endpoint: string, check: string, isHealthy: boolean): void
  /** The text exposition. */
  text(): string
  readonly declared: Metrics['declared']
}

export function createHealthMetrics(): HealthMetrics {
  const metrics = createMetrics({ release: metricsRelease, showHidden: false })
  const latest = metrics.gauge({
    name: 'kubernetes_healthcheck',
    help: 'The result of a health check: 1 when it passed, 0 when it failed.',
    stability: 'STABLE',
    labels: ['name', 'type'],
  })
  const results = metrics.counter({
    name: 'kubernetes_healthchecks_total',
    help: 'The results of health checks.',
    stability: 'STABLE',
    labels: ['name', 'status', 'type'],
  })
  return {
    observe: (endpoint, check, isHealthy) => {
      latest.with(check, endpoint).set(isHealthy ? 1 : 0)
      results.with(check, isHealthy ? 'success' : 'error', endpoint).inc()
    },
    text: () => metrics.text(),
    declared: metrics.declared,
  }
}
