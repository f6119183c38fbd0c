/** The metrics of the cronjob controller (upstream: pkg/controller/cronjob/metrics). */
import { exponentialBuckets } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'

export type CronJobMetrics = ReturnType<typeof declareCronJobMetrics>

export function declareCronJobMetrics(metrics: Metrics) {
  return {
    creationSkew: metrics.histogram({
      name: 'cronjob_controller_job_creation_skew_duration_seconds',
      help: 'Time between when a cronjob is scheduled to be run, and when the corresponding job is created',
      stability: 'STABLE',
      buckets: exponentialBuckets(1, 2, 10),
    }),
  }
}
