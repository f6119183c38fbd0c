/** The metrics of the garbage collector (upstream: pkg/controller/garbagecollector/metrics). */
import type { Metrics } from '../../component-base/metrics.ts'

export function declareGarbageCollectorMetrics(metrics: Metrics) {
  return {
    syncErrors: metrics.counter({
      name: 'garbagecollector_controller_resources_sync_error_total',
      help: 'Number of garbage collector resources sync errors',
    }),
  }
}
