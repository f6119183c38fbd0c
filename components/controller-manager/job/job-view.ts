/** What one sync of a Job sees: its pods, its counts, and why it ends now, if it does (upstream: job_controller.go syncJob). Pure. */
import type { Job, JobSpec, Pod } from '../../api/generated/types.ts'
import { isActive, isReady } from '../pod-state.ts'
import {
  hasIndex,
  indexCount,
  intervalsOf,
  mergeIntervals,
  parseIntervals,
} from './index-intervals.ts'
import type { Intervals } from './index-intervals.ts'
import {
  completionIndex,
  finishedMs,
  hasTrackingFinalizer,
  indexFailures,
  isPodFailed,
  isTerminating,
  uidOf,
} from './job-pods.ts'
import type { JobRules } from './job-rules.ts'
import { hasLimitPerIndex, isIndexed } from './job-rules.ts'
import { backoffAfter } from './pod-backoff.ts'
import type { Backoff } from './pod-backoff.ts'
import { judgeFailure } from './pod-failure-policy.ts'

export interface IndexView {
  /** As the status has them. */
  readonly counted: Intervals
  /** With those that succeeded since. */
  readonly succeeded: Intervals
  /** Undefined where indexes have no back-off limit of their own. */
  readonly failed: Intervals | undefined
  /** Of an index that waits for its next try, the pod that failed last: it stays until the next one carries its failures. */
  readonly lastFailed: ReadonlyMap<number, Pod>
}

export interface JobView {
  readonly job: Job
  readonly spec: JobSpec
  readonly rules: JobRules
  /** All pods of the Job; of an Indexed one in the order of their indexes. */
  readonly pods: readonly Pod[]
  readonly active: readonly Pod[]
  /** Pods that still have the tracking finalizer, by uid. */
  readonly held: ReadonlySet<string>
  /** In the status, but not counted for good. */
  readonly uncounted: {
    readonly succeeded: ReadonlySet<string>
    readonly failed: ReadonlySet<string>
  }
  readonly succeeded: number
  readonly failed: number
  readonly ready: number
  readonly terminating: number
  /** Undefined for a Job without indexes. */
  readonly indexes: IndexView | undefined
  /** Once the pods that finished are counted. */
  readonly backoff: Backoff
}

export interface JobFacts {
  readonly job: Job
  readonly pods: readonly Pod[]
  /** Uids of pods whose finalizer was removed already, whatever the cache shows. */
  readonly released: ReadonlySet<string>
  readonly backoff: Backoff
  readonly rules: JobRules
}

export function viewJob(facts: JobFacts): JobView {
  const { job, released, rules } = facts
  const spec = job.spec ?? { template: {} }
  const { status = {} } = job
  const pods = isIndexed(spec) ? inOrderOfIndex(facts.pods, rules) : facts.pods
  const active = pods.filter(isActive)
  const held = new Set(
    pods.filter((pod) => hasTrackingFinalizer(pod, rules) && !released.has(uidOf(pod))).map(uidOf),
  )
  const uncounted = {
    succeeded: new Set(status.uncountedTerminatedPods?.succeeded),
    failed: new Set(status.uncountedTerminatedPods?.failed),
  }
  const countable = pods.filter((pod) => held.has(uidOf(pod)) && hasValidIndex(pod, spec, rules))
  const isNew = (pod: Pod): boolean =>
    !uncounted.succeeded.has(uidOf(pod)) && !uncounted.failed.has(uidOf(pod))
  const newSucceeded = countable.filter((pod) => isNew(pod) && pod.status?.phase === 'Succeeded')
  const newFailed = countable.filter((pod) => isNew(pod) && isPodFailed(pod, spec, rules))
  const newCounted = newFailed.filter((pod) => judgeFailure(spec, pod, rules).isCounted)
  const indexes = isIndexed(spec)
    ? viewIndexes(job, spec, { pods: countable, active, failed: uncounted.failed, rules })
    : undefined
  return {
    job,
    spec,
    rules,
    pods,
    active,
    held,
    uncounted,
    succeeded:
      indexes === undefined
        ? (status.succeeded ?? 0) + newSucceeded.length + uncounted.succeeded.size
        : indexCount(indexes.succeeded),
    failed: (status.failed ?? 0) + newCounted.length + uncounted.failed.size,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isTerminating).length,
    indexes,
    backoff: backoffAfter(facts.backoff, newSucceeded, newFailed),
  }
}

/** An index that the Job asks for; true for every pod of a Job without indexes. */
export function hasValidIndex(pod: Pod, spec: JobSpec, rules: JobRules): boolean {
  return !isIndexed(spec) || completionIndex(pod, rules, spec.completions) !== undefined
}

function inOrderOfIndex(pods: readonly Pod[], rules: JobRules): Pod[] {
  const index = (pod: Pod): number => completionIndex(pod, rules) ?? -1
  return pods.toSorted((a, b) => index(a) - index(b))
}

/** `pods` have the finalizer and a valid index; `failed` are the uids of those that count as failed. */
function viewIndexes(
  { status = {} }: Job,
  spec: JobSpec,
  of: {
    readonly pods: readonly Pod[]
    readonly active: readonly Pod[]
    readonly failed: ReadonlySet<string>
    readonly rules: JobRules
  },
): IndexView {
  const { pods, active, rules } = of
  const { completions = 0 } = spec
  const indexOf = (pod: Pod): number => completionIndex(pod, rules) ?? -1
  const counted = parseIntervals(status.completedIndexes, completions)
  // One that counts as failed, since it was being deleted, stays so however it ended.
  const done = pods.filter((pod) => pod.status?.phase === 'Succeeded' && !of.failed.has(uidOf(pod)))
  const succeeded = mergeIntervals(counted, intervalsOf(done.map(indexOf)))
  if (!hasLimitPerIndex(spec, rules)) {
    return { counted, succeeded, failed: undefined, lastFailed: new Map() }
  }
  const given = pods.filter((pod) => isIndexFailed(pod, spec, rules))
  const failed = mergeIntervals(
    parseIntervals(status.failedIndexes, completions),
    intervalsOf(given.map(indexOf)),
  )
  const running = new Set(active.map(indexOf))
  const lastFailed = new Map<number, Pod>()
  for (const pod of pods.filter((one) => isPodFailed(one, spec, rules))) {
    const index = indexOf(pod)
    if (hasIndex(succeeded, index) || hasIndex(failed, index) || running.has(index)) continue
    const known = lastFailed.get(index)
    if (known === undefined || isLater(pod, known, rules)) lastFailed.set(index, pod)
  }
  return { counted, succeeded, failed, lastFailed }
}

function isIndexFailed(pod: Pod, spec: JobSpec, rules: JobRules): boolean {
  if (!isPodFailed(pod, spec, rules)) return false
  const { isCounted, failsIndex = false } = judgeFailure(spec, pod, rules)
  if (failsIndex) return true
  return isCounted && indexFailures(pod, rules).counted >= (spec.backoffLimitPerIndex ?? 0)
}

function isLater(pod: Pod, known: Pod, rules: JobRules): boolean {
  const all = (one: Pod): number => {
    const { counted, ignored } = indexFailures(one, rules)
    return counted + ignored
  }
  return all(pod) >= all(known) && finishedMs(pod) >= finishedMs(known)
}
