/** One sync of a Job: ends it or manages its pods, then counts (upstream: job_controller.go syncJob). */
import type { Job, JobStatus, Pod } from '../../api/generated/types.ts'
import type { Result } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import { timestamp } from '../../component-base/clock.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { labelSelectorFrom, selectNothing } from '../../machinery/selectors/label-selector.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { claimOwned } from '../claim.ts'
import { controlledBy } from '../pod-indexes.ts'
import type { JobConditionText } from './job-conditions.ts'
import { finishedCondition, withJobCondition } from './job-conditions.ts'
import { completionEnd, deadlineLeftMs, earlyEnd } from './job-end.ts'
import { completionMode } from './job-metrics.ts'
import type { JobSyncAction } from './job-metrics.ts'
import { isManagedElsewhere, isSuspended } from './job-rules.ts'
import { viewJob } from './job-view.ts'
import type { JobView } from './job-view.ts'
import { countsOf, deletePods, managePods } from './manage-pods.ts'
import type { PodCounts } from './manage-pods.ts'
import { noBackoff } from './pod-backoff.ts'
import type { Backoff } from './pod-backoff.ts'
import { setCount, trackPods } from './track-pods.ts'
import type { TrackTools } from './track-pods.ts'

export interface JobSync {
  readonly jobs: Informer<Job>
  readonly pods: Informer<Pod>
  readonly tools: Omit<TrackTools, 'counted'>
  readonly recorder: EventRecorder
  /** Of the Jobs under way, by key; a restart forgets it, as upstream's does. */
  readonly backoffs: Map<string, Backoff>
}

export function jobSelector({ spec }: Job): LabelSelector {
  try {
    return labelSelectorFrom(spec?.selector)
  } catch {
    // The server validates selectors; one that slipped through must not select anything.
    return selectNothing
  }
}

export async function syncJob(sync: JobSync, key: string): Promise<Result | void> {
  const { jobs, recorder, backoffs } = sync
  const { rules, jobWrites } = sync.tools
  const job = jobs.get(key)
  if (job === undefined || isManagedElsewhere(job, rules)) return
  if (finishedCondition(job) !== undefined) {
    backoffs.delete(key)
    return
  }
  const mode = completionMode(job)
  if (mode !== 'NonIndexed' && mode !== 'Indexed') {
    const message = 'Skipped Job sync because completion mode is unknown'
    recorder.record(job, { type: 'Warning', reason: 'UnknownCompletionMode', message })
    return
  }
  // A status older than our own last one would count pods as missing that it has counted already.
  const statusPendingMs = jobWrites.pendingMs(key)
  if (statusPendingMs !== undefined) return { requeueAfterMs: statusPendingMs }
  return measured(sync, job, (report) => syncActive(sync, { job, key, report }))
}

/** Called once it is known what the sync does; without a call it is `reconciling`. */
type ReportAction = (action: JobSyncAction) => void

async function measured<T>(
  { tools: { clock, metrics } }: JobSync,
  job: Job,
  act: (report: ReportAction) => Promise<T>,
): Promise<T> {
  const startedMs = clock.elapsed()
  let action: JobSyncAction = 'reconciling'
  let result = 'error'
  try {
    const done = await act((reported) => void (action = reported))
    result = 'success'
    return done
  } finally {
    const labels = [completionMode(job), result, action]
    metrics.syncs.with(...labels).inc()
    metrics.syncSeconds.with(...labels).observe((clock.elapsed() - startedMs) / 1000)
  }
}

async function syncActive(
  sync: JobSync,
  { job, key, report }: { readonly job: Job; readonly key: string; readonly report: ReportAction },
): Promise<Result | void> {
  const { backoffs } = sync
  const { rules, podWrites } = sync.tools
  // Decided before the pods are read: what shows up in between can only make the cache newer.
  const pendingMs = podWrites.pendingMs(key)
  const view = viewJob({
    job,
    pods: await claimPods(sync, job),
    released: sync.tools.released.of(key),
    backoff: backoffs.get(key) ?? noBackoff,
    rules,
  })
  return advance(sync, view, { pendingMs, report })
}

/** The Job's pods; adopted ones get the finalizer, released ones lose it. */
function claimPods({ pods, tools }: JobSync, job: Job): Promise<Pod[]> {
  const { owned, orphans } = controlledBy(pods, job)
  return claimOwned({
    candidates: [...owned, ...orphans],
    owner: job,
    ownerClient: tools.jobs,
    selector: jobSelector(job),
    client: tools.pods,
    finalizer: tools.rules.finalizer,
  })
}

async function advance(
  sync: JobSync,
  view: JobView,
  { pendingMs, report }: { readonly pendingMs: number | undefined; readonly report: ReportAction },
): Promise<Result | void> {
  const { clock } = sync.tools
  const nowMs = clock.now()
  const status = copyJson<JobStatus>(view.job.status ?? {})
  if (status.startTime === undefined && !isSuspended(view.spec)) status.startTime = timestamp(nowMs)
  const early = earlyEnd(view, nowMs)
  const { counts, end } =
    early === undefined
      ? await goOn(sync, view, { status, isSettled: pendingMs === undefined })
      : await stop(sync, view, { early, isSettled: pendingMs === undefined })
  if (counts.action !== undefined) report(counts.action)
  setCount(status, 'active', counts.active)
  status.ready = counts.ready
  if (view.rules.gates.JobPodReplacementPolicy) status.terminating = counts.terminating
  else delete status.terminating
  await count(sync, view, { status, terminating: counts.terminating, end })
  if (counts.error !== undefined) throw counts.error
  // The deadline runs on from the start time that the status has got just now.
  const started = { ...view, job: { ...view.job, status } }
  const deadlineMs = early === undefined ? deadlineLeftMs(started, nowMs) : undefined
  const waits = [deadlineMs, counts.waitMs, pendingMs].filter((ms) => ms !== undefined)
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) }
}

interface Step {
  readonly counts: PodCounts
  readonly end: JobConditionText | undefined
}

/** Deletes the pods that still run. The end is announced once all are known to be deleted. */
async function stop(
  { tools }: JobSync,
  view: JobView,
  { early, isSettled }: { readonly early: JobConditionText; readonly isSettled: boolean },
): Promise<Step> {
  const counts = await deletePods(view, tools, { pods: view.active, release: false })
  return { counts, end: counts.active === 0 && isSettled ? early : undefined }
}

/** Makes and deletes pods, unless earlier ones are still to be seen; then the Job may be complete, suspended or resumed. */
async function goOn(
  sync: JobSync,
  view: JobView,
  { status, isSettled }: { readonly status: JobStatus; readonly isSettled: boolean },
): Promise<Step> {
  const { job, spec, succeeded, rules } = view
  const mayManage = isSettled && job.metadata.deletionTimestamp === undefined
  const counts = mayManage ? await managePods(view, sync.tools) : countsOf(view)
  const isEnough = spec.completions === undefined ? succeeded > 0 : succeeded >= spec.completions
  if (isEnough && counts.active === 0 && isSettled) return { counts, end: completionEnd(rules) }
  if (mayManage) reportSuspension(sync, job, status)
  return { counts, end: undefined }
}

function reportSuspension(
  { recorder, tools: { clock } }: JobSync,
  job: Job,
  status: JobStatus,
): void {
  const now = timestamp(clock.now())
  const isStopped = isSuspended(job.spec ?? { template: {} })
  const condition: JobConditionText = isStopped
    ? { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' }
    : { type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' }
  const conditions = withJobCondition(status.conditions, condition, now)
  if (conditions === undefined) return
  status.conditions = conditions
  const reason = isStopped ? 'Suspended' : 'Resumed'
  recorder.record(job, { type: 'Normal', reason, message: condition.message })
  // The deadline is about time without a break.
  if (!isStopped) status.startTime = now
}

async function count(
  { tools, recorder, backoffs }: JobSync,
  view: JobView,
  progress: Parameters<typeof trackPods>[1],
): Promise<void> {
  const { namespace = '', name = '' } = view.job.metadata
  const counted = (): void => void backoffs.set(`${namespace}/${name}`, view.backoff)
  const { job, ended } = await trackPods(view, progress, { ...tools, counted })
  if (ended === undefined) return
  const isComplete = ended.type === 'Complete'
  tools.metrics.finished
    .with(completionMode(job), isComplete ? 'succeeded' : 'failed', ended.reason)
    .inc()
  const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    recorder.record(job, { type, reason, message })
  if (!isComplete) {
    tell('Warning', ended.reason, ended.message)
    return
  }
  const { completions } = view.spec
  if (completions !== undefined && (job.status?.succeeded ?? 0) > completions) {
    const message = 'Too many succeeded pods running after completion count reached'
    tell('Warning', 'TooManySucceededPods', message)
  }
  tell('Normal', 'Completed', 'Job completed')
}
