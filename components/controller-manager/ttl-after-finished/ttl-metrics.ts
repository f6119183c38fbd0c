/** The metrics of the ttl-after-finished controller (upstream: pkg/controller/ttlafterfinished/metrics). */
import { exponentialBuckets } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'

export function declareTtlMetrics(metrics: Metrics) {
  return {
    deletionSeconds: metrics.histogram({
      name: 'ttl_after_finished_controller_job_deletion_duration_seconds',
      help: 'The time it took to delete the job since it became eligible for deletion',
      buckets: exponentialBuckets(0.1, 2, 14),
    }),
  }
}
