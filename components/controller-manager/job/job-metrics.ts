/** The metrics of the job controller (upstream: pkg/controller/job/metrics, recordJobPodFinished, recordJobPodsCreationTotal). */
import { labelKey } from '../../api/dialect.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Job, JobStatus, Pod } from '../../api/generated/types.ts'
import type { InformerEvent } from '../../client/informer.ts'
import { exponentialBuckets } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { isTerminal } from '../pod-state.ts'
import { indexCount, parseIntervals } from './index-intervals.ts'
import { hasTrackingFinalizer } from './job-pods.ts'
import type { JobRules } from './job-rules.ts'
import { hasLimitPerIndex, isIndexed } from './job-rules.ts'

/** What a sync did: `reconciling` waits for the effect of earlier writes, or ends the Job. */
export type JobSyncAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted'

export type JobMetrics = ReturnType<typeof declareJobMetrics>

export function declareJobMetrics(metrics: Metrics, dialect: Dialect) {
  const finalizer = labelKey(dialect, 'batch', 'job-tracking')
  return { ...declareSyncs(metrics), ...declarePods(metrics, finalizer) }
}

function declareSyncs(metrics: Metrics) {
  const labels = ['completion_mode', 'result', 'action']
  return {
    syncSeconds: metrics.histogram({
      name: 'job_controller_job_sync_duration_seconds',
      help: 'The time it took to sync a job',
      stability: 'STABLE',
      labels,
      buckets: exponentialBuckets(0.004, 2, 15),
    }),
    syncs: metrics.counter({
      name: 'job_controller_job_syncs_total',
      help: 'The number of job syncs',
      stability: 'STABLE',
      labels,
    }),
    finished: metrics.counter({
      name: 'job_controller_jobs_finished_total',
      help: 'The number of finished jobs',
      stability: 'STABLE',
      labels: ['completion_mode', 'result', 'reason'],
    }),
    countManagedElsewhere: declareManagers(metrics),
  }
}

/** Controllers that the metric names. Anybody may make up more: these are counted as one. */
const mostManagers = 100

/** Declares how many Jobs other controllers manage; the result counts one, by the name of its controller. */
function declareManagers(metrics: Metrics): (name: string) => void {
  const managed = metrics.counter({
    name: 'job_controller_jobs_by_external_controller_total',
    help: 'The number of Jobs managed by an external controller',
    labels: ['controller_name'],
  })
  const named = new Set<string>()
  return (name) => {
    if (named.size < mostManagers) named.add(name)
    managed.with(named.has(name) ? name : 'other').inc()
  }
}

function declarePods(metrics: Metrics, finalizer: string) {
  return {
    podsFinished: metrics.counter({
      name: 'job_controller_job_pods_finished_total',
      help: 'The number of finished Pods that are fully tracked',
      stability: 'STABLE',
      labels: ['completion_mode', 'result'],
    }),
    policyFailures: metrics.counter({
      name: 'job_controller_pod_failures_handled_by_failure_policy_total',
      help: 'The number of failed Pods handled by failure policy with respect to the failure policy action applied based on the matched rule. Possible values of the action label correspond to the possible values for the failure policy rule action, which are: "FailJob", "Ignore" and "Count".',
      stability: 'BETA',
      labels: ['action'],
    }),
    heldPods: metrics.counter({
      name: 'job_controller_terminated_pods_tracking_finalizer_total',
      help: `The number of terminated pods (phase=Failed|Succeeded) that have the finalizer ${finalizer}. The event label can be "add" or "delete".`,
      stability: 'BETA',
      labels: ['event'],
    }),
    indexesFinished: metrics.counter({
      name: 'job_controller_job_finished_indexes_total',
      help: 'The number of finished indexes. Possible values for the status label are: "succeeded", "failed". Possible values for the backoffLimit label are: "perIndex" and "global"',
      labels: ['status', 'backoffLimit'],
    }),
    podsCreated: metrics.counter({
      name: 'job_controller_job_pods_creation_total',
      help: 'The number of Pods created by the Job controller labelled with a reason for the Pod creation. This metric also distinguishes between Pods created using different PodReplacementPolicy settings. Possible values of the "reason" label are: "new", "recreate_terminating_or_failed", "recreate_failed". Possible values of the "status" label are: "succeeded", "failed".',
      labels: ['reason', 'status'],
    }),
  }
}

export function completionMode({ spec }: Job): string {
  return spec?.completionMode ?? 'NonIndexed'
}

/** Adds what a written status counts more than the one before. */
export function countFinishedPods(
  { podsFinished, indexesFinished }: JobMetrics,
  { spec = { template: {} }, ...job }: Job,
  {
    before = {},
    after,
    rules,
  }: { before: JobStatus | undefined; after: JobStatus; rules: JobRules },
): void {
  const mode = completionMode({ ...job, spec })
  const grown = (field: 'succeeded' | 'failed'): number =>
    Math.max(0, (after[field] ?? 0) - (before[field] ?? 0))
  let succeeded = grown('succeeded')
  if (isIndexed(spec)) {
    const count = (text: string | undefined): number =>
      indexCount(parseIntervals(text, spec.completions ?? 0))
    // Indexes beyond a smaller number of completions count no more, before or after.
    const grownIndexes = (field: 'completedIndexes' | 'failedIndexes'): number =>
      Math.max(0, count(after[field]) - count(before[field]))
    succeeded = grownIndexes('completedIndexes')
    const limit = hasLimitPerIndex(spec, rules) ? 'perIndex' : 'global'
    indexesFinished.with('succeeded', limit).inc(succeeded)
    if (limit === 'perIndex')
      indexesFinished.with('failed', limit).inc(grownIndexes('failedIndexes'))
  }
  podsFinished.with(mode, 'succeeded').inc(succeeded)
  podsFinished.with(mode, 'failed').inc(grown('failed'))
}

/** Counts finished pods that get or lose the tracking finalizer, whoever owns them. */
export function countHeldPod(
  { heldPods }: JobMetrics,
  event: InformerEvent<Pod>,
  rules: JobRules,
): void {
  const isHeld = (pod: Pod): boolean => isTerminal(pod) && hasTrackingFinalizer(pod, rules)
  const was =
    event.type === 'update' ? isHeld(event.old) : event.type === 'delete' && isHeld(event.object)
  const is = event.type !== 'delete' && isHeld(event.object)
  if (was !== is) heldPods.with(is ? 'add' : 'delete').inc()
}
