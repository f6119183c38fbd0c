/** The metrics of the taint-eviction controller (upstream: pkg/controller/tainteviction/metrics). */
import type { Metrics } from '../../component-base/metrics.ts'

export type TaintEvictionMetrics = ReturnType<typeof declareTaintEvictionMetrics>

export function declareTaintEvictionMetrics(metrics: Metrics) {
  return {
    deletions: metrics.counter({
      name: 'taint_eviction_controller_pod_deletions_total',
      help: 'Total number of Pods deleted by TaintEvictionController since its start.',
    }),
    // Upstream multiplies the seconds by a billion, against its own words and buckets.
    latencySeconds: metrics.histogram({
      name: 'taint_eviction_controller_pod_deletion_duration_seconds',
      help: 'Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion via TaintEvictionController.',
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
    }),
  }
}
