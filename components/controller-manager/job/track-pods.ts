/**
 * Counts finished pods exactly once (upstream: job_controller.go trackJobStatusAndRemoveFinalizers; KEP-2307): first the
 * status names them as uncounted, then they lose their finalizer, then the status counts them. Whatever is interrupted can be
 * taken up again from the objects alone.
 */
import type { Job, JobStatus, Pod, UncountedTerminatedPods } from '../../api/generated/types.ts'
import { timestamp } from '../../component-base/clock.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { eachAtOnce } from '../batches.ts'
import type { OwnWrites } from '../own-writes.ts'
import { intervalText, intervalsOf, mergeIntervals, indexCount } from './index-intervals.ts'
import type { JobConditionText } from './job-conditions.ts'
import { withJobCondition } from './job-conditions.ts'
import { terminalCondition } from './job-end.ts'
import { countFinishedPods } from './job-metrics.ts'
import { completionIndex, isPodFailed, uidOf } from './job-pods.ts'
import { hasLimitPerIndex } from './job-rules.ts'
import { hasValidIndex } from './job-view.ts'
import type { JobView } from './job-view.ts'
import { removeFinalizer } from './manage-pods.ts'
import type { JobTools } from './manage-pods.ts'
import { judgeFailure } from './pod-failure-policy.ts'
import type { FailureVerdict } from './pod-failure-policy.ts'
import type { ReleasedPods } from './released-pods.ts'

/** Most pods that a status names as uncounted: about 20 KB. */
const maxUncounted = 500
const requestsAtOnce = 50

export interface TrackTools extends JobTools {
  readonly jobWrites: OwnWrites
  readonly released: ReleasedPods
  /** The status was written that counts the failures and successes of the view's back-off. */
  readonly counted: () => void
}

export interface Progress {
  /** The status with all that this sync found out; changed in place. */
  readonly status: JobStatus
  readonly terminating: number
  /** Why the Job ends; undefined while it goes on. */
  readonly end: JobConditionText | undefined
}

type Uncounted = Required<UncountedTerminatedPods>

/** Gives the last condition of the Job when it has ended now. */
export async function trackPods(
  view: JobView,
  progress: Progress,
  tools: TrackTools,
): Promise<{ readonly job: Job; readonly ended: JobConditionText | undefined }> {
  const { status, end } = progress
  const writer = createStatusWriter(view, status, tools)
  const held = new Set(view.held)
  countReleased(status, held)
  const { leaving, isWhole, actions } = nameFinished(view, progress)
  announce(status, end, timestamp(tools.clock.now()))
  if (await writer.write()) tools.counted()
  for (const action of actions) tools.metrics.policyFailures.with(action).inc()
  const [error] = await releasePods(view.job, leaving, { held, tools })
  countReleased(status, held)
  if (error !== undefined) {
    await writer.write()
    throw error
  }
  const ended = isWhole && finish(progress, timestamp(tools.clock.now()))
  await writer.write()
  return {
    job: writer.job(),
    ended: ended && end !== undefined ? terminalCondition(end) : undefined,
  }
}

/** Writes the status when it differs from what was written last. */
function createStatusWriter({ job, rules }: JobView, status: JobStatus, tools: TrackTools) {
  const { jobs, jobWrites, metrics } = tools
  let current = job
  let written: JobStatus | undefined = job.status
  return {
    job: (): Job => current,
    /** False when there was nothing to write. */
    write: async (): Promise<boolean> => {
      if (deepEqual(written, status)) return false
      const sent = copyJson(status)
      current = await jobs.updateStatus({ ...current, status: sent })
      jobWrites.wrote(keyOf(job), current)
      countFinishedPods(metrics, job, { before: written, after: sent, rules })
      written = sent
      return true
    },
  }
}

function uncountedIn(status: JobStatus): Uncounted {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {}
  return { succeeded, failed }
}

function setUncounted(status: JobStatus, { succeeded, failed }: Uncounted): void {
  status.uncountedTerminatedPods = {
    ...(succeeded.length > 0 && { succeeded }),
    ...(failed.length > 0 && { failed }),
  }
}

/** Sets a count as upstream shows it: not at all when it is 0. */
export function setCount(
  status: JobStatus,
  field: 'active' | 'succeeded' | 'failed',
  count: number,
): void {
  if (count === 0) delete status[field]
  else status[field] = count
}

/** Pods that the status names and that have no finalizer any more are counted. */
function countReleased(status: JobStatus, held: ReadonlySet<string>): void {
  const uncounted = uncountedIn(status)
  const left = { succeeded: [] as string[], failed: [] as string[] }
  for (const field of ['succeeded', 'failed'] as const) {
    left[field] = uncounted[field].filter((uid) => held.has(uid))
    const released = uncounted[field].length - left[field].length
    setCount(status, field, (status[field] ?? 0) + released)
  }
  setUncounted(status, left)
}

interface NamedPods {
  /** They may lose their finalizer. */
  readonly leaving: readonly Pod[]
  /** Whether the limit left none out. */
  readonly isWhole: boolean
  /** Of the rules of the pod failure policy that the failed ones match. */
  readonly actions: readonly string[]
}

/** Puts pods that finished into the status, up to a limit. */
function nameFinished(view: JobView, { status, end }: Progress): NamedPods {
  const { spec, rules, indexes } = view
  const named = uncountedIn(status)
  const succeeded = [...named.succeeded]
  const failed = [...named.failed]
  const newIndexes: number[] = []
  const leaving: Pod[] = []
  const actions: string[] = []
  let isWhole = true
  for (const pod of view.pods) {
    const uid = uidOf(pod)
    if (!view.held.has(uid) || !mayLeave(view, pod, end)) continue
    leaving.push(pod)
    const isNamed = view.uncounted.failed.has(uid) || view.uncounted.succeeded.has(uid)
    if (!isNamed && hasValidIndex(pod, spec, rules)) {
      if (pod.status?.phase !== 'Succeeded') {
        const verdict = verdictOf(view, pod, end)
        if (verdict?.isCounted === true) failed.push(uid)
        if (verdict?.action !== undefined) actions.push(verdict.action)
      } else if (indexes === undefined) succeeded.push(uid)
      // The index alone says that the pod was counted.
      else newIndexes.push(completionIndex(pod, rules) ?? 0)
    }
    if (newIndexes.length + succeeded.length + failed.length >= maxUncounted) {
      isWhole = false
      break
    }
  }
  setUncounted(status, { succeeded, failed })
  if (indexes !== undefined) {
    const completed = mergeIntervals(indexes.counted, intervalsOf(newIndexes))
    setCount(status, 'succeeded', indexCount(completed))
    if (completed.length === 0) delete status.completedIndexes
    else status.completedIndexes = intervalText(completed)
    if (indexes.failed === undefined) delete status.failedIndexes
    else status.failedIndexes = intervalText(indexes.failed)
  }
  return { leaving, isWhole, actions }
}

function mayLeave(view: JobView, pod: Pod, end: JobConditionText | undefined): boolean {
  const { job, spec, rules, indexes } = view
  const isJobGoing = job.metadata.deletionTimestamp !== undefined
  if (isJobGoing || end !== undefined || pod.status?.phase === 'Succeeded') return true
  if (!isPodFailed(pod, spec, rules)) return false
  if (!hasLimitPerIndex(spec, rules)) return true
  // The next pod of the index takes its failures over.
  const index = completionIndex(pod, rules)
  return index === undefined || indexes?.lastFailed.get(index) !== pod
}

/** What the failure of the pod counts for; undefined for a pod that has not failed. When a Job fails, so do the pods that still ran. */
function verdictOf(
  { spec, rules }: JobView,
  pod: Pod,
  end: JobConditionText | undefined,
): FailureVerdict | undefined {
  const isJobFailure = end !== undefined && end.type !== 'SuccessCriteriaMet'
  if (!isPodFailed(pod, spec, rules) && !isJobFailure) return undefined
  return judgeFailure(spec, pod, rules)
}

/** The condition that comes before the last one. */
function announce(status: JobStatus, end: JobConditionText | undefined, now: string): void {
  if (end?.type !== 'FailureTarget' && end?.type !== 'SuccessCriteriaMet') return
  const known = status.conditions?.some(({ type }) => type === end.type) ?? false
  if (!known) status.conditions = withJobCondition(status.conditions, end, now) ?? []
}

async function releasePods(
  job: Job,
  pods: readonly Pod[],
  { held, tools }: { readonly held: Set<string>; readonly tools: TrackTools },
): Promise<readonly unknown[]> {
  const { released, rules } = tools
  return eachAtOnce(pods, requestsAtOnce, async (pod) => {
    released.expect(keyOf(job), pod)
    try {
      await removeFinalizer(tools.pods, pod, rules)
    } catch (error) {
      released.forget(pod)
      throw error
    }
    held.delete(uidOf(pod))
  })
}

/** Sets the last condition once all pods are counted and none is on its way out; false before. */
function finish({ status, terminating, end }: Progress, now: string): boolean {
  if (end === undefined) return false
  const { succeeded, failed } = uncountedIn(status)
  if (succeeded.length + failed.length > 0) return false
  if (terminating > 0) return false
  const condition = terminalCondition(end)
  status.conditions = withJobCondition(status.conditions, condition, now) ?? status.conditions ?? []
  if (condition.type === 'Complete') status.completionTime = now
  return true
}
