/** Makes and deletes pods so that as many are active as the Job wants (upstream: job_controller.go manageJob). */
import type { Job, Pod } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { eachAtOnce, slowStart } from '../batches.ts'
import type { OwnWrites } from '../own-writes.ts'
import { isReady } from '../pod-state.ts'
import { isNamespaceTerminating } from '../replica-set/pod-control.ts'
import type { PodControl } from '../replica-set/pod-control.ts'
import { compareActivePods } from '../replica-set/pod-ranking.ts'
import { firstMissing, intervalsOf, mergeIntervals } from './index-intervals.ts'
import type { JobMetrics, JobSyncAction } from './job-metrics.ts'
import { completionIndex, hasTrackingFinalizer, isTerminating } from './job-pods.ts'
import type { JobRules } from './job-rules.ts'
import { hasLimitPerIndex, isIndexed, isSuspended, onlyReplacesFailed } from './job-rules.ts'
import { jobPodTemplate } from './job-template.ts'
import type { JobView } from './job-view.ts'
import { backoffLeftMs, indexBackoffLeftMs } from './pod-backoff.ts'

/** Most pods made or deleted in one sync; the rest follows when these were seen. */
const maxPodsPerSync = 500
/** Requests in flight at once: a server takes only so many, and there are other Jobs. */
const requestsAtOnce = 50
/** A wait for the back-off is never shorter, so that events of one moment are handled together. */
const shortestWaitMs = 1000

export interface JobTools {
  readonly jobs: ResourceClient<Job>
  readonly pods: ResourceClient<Pod>
  readonly control: PodControl
  /** Pods made and deleted that the informer has not shown. */
  readonly podWrites: OwnWrites
  readonly rules: JobRules
  readonly clock: Clock
  readonly metrics: JobMetrics
}

/** The numbers of pods after a step. */
export interface PodCounts {
  readonly active: number
  readonly ready: number
  readonly terminating: number
  /** Absent where nothing was to be decided. */
  readonly action?: JobSyncAction
  /** The first failure; the sync is to be repeated. */
  readonly error?: unknown
  /** Nothing can be done before. */
  readonly waitMs?: number
}

/** As they are before anything was done. */
export function countsOf({ active, ready, terminating }: JobView): PodCounts {
  return { active: active.length, ready, terminating }
}

/** Deletes pods that are too many, else makes those that are missing, else does nothing. */
export async function managePods(view: JobView, tools: JobTools): Promise<PodCounts> {
  const { spec, active } = view
  const wanted = wantedActive(view)
  const surplus = podsToRemove(view, Math.max(0, active.length - wanted))
  const removed = isSuspended(spec) ? surplus : surplus.slice(0, maxPodsPerSync)
  if (removed.length > 0 || isSuspended(spec)) {
    const counts = await deletePods(view, tools, { pods: removed, release: true })
    return { ...counts, action: 'pods_deleted' }
  }
  const replaced = onlyReplacesFailed(spec, view.rules) ? view.terminating : 0
  const missing = wanted - replaced - active.length
  if (missing > 0) return createPods(view, tools, Math.min(missing, maxPodsPerSync))
  return { ...countsOf(view), action: 'tracking' }
}

/** Deletes active pods. With `release` they are not counted: their finalizers go first. */
export async function deletePods(
  view: JobView,
  { control, podWrites, pods: client, rules }: JobTools,
  { pods, release }: { readonly pods: readonly Pod[]; readonly release: boolean },
): Promise<PodCounts> {
  const { job } = view
  const deleted: Pod[] = []
  const [error] = await eachAtOnce(pods, requestsAtOnce, async (pod) => {
    if (release) await removeFinalizer(client, pod, rules)
    await control.delete(job, pod)
    podWrites.deleted(keyOf(job), pod)
    deleted.push(pod)
  })
  return {
    active: view.active.length - deleted.length,
    ready: view.ready - deleted.filter(isReady).length,
    terminating: view.terminating + deleted.length,
    ...(error === undefined ? {} : { error }),
  }
}

/** Lets the pod go once it is deleted. No-op for a pod that has no finalizer of ours, or is gone. */
export async function removeFinalizer(
  pods: ResourceClient<Pod>,
  pod: Pod,
  rules: JobRules,
): Promise<void> {
  if (!hasTrackingFinalizer(pod, rules)) return
  const { namespace, name = '', uid } = pod.metadata
  const patch = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [rules.finalizer] } }
  try {
    await pods.patch({ namespace, name }, patch, { type: 'strategic' })
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
}

function wantedActive({ spec, active, succeeded }: JobView): number {
  if (isSuspended(spec)) return 0
  const { completions, parallelism = 1 } = spec
  // A work queue: after the first success no pod is made, and those that run may end.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism
  return Math.max(0, Math.min(completions - succeeded, parallelism))
}

/** At least `count` active pods: of an Indexed Job also those with no valid index, and all but one of each index. */
function podsToRemove({ spec, active, rules }: JobView, count: number): readonly Pod[] {
  const removed: Pod[] = []
  const left: Pod[] = []
  if (isIndexed(spec)) {
    const byIndex = Map.groupBy(active, (pod) => completionIndex(pod, rules, spec.completions))
    for (const [index, pods] of byIndex) {
      const ranked = pods.toSorted(compareActivePods)
      const kept = index === undefined ? [] : ranked.splice(-1)
      removed.push(...ranked)
      left.push(...kept)
    }
  } else left.push(...active)
  const missing = count - removed.length
  if (missing > 0) removed.push(...left.toSorted(compareActivePods).slice(0, missing))
  return removed
}

async function createPods(view: JobView, tools: JobTools, count: number): Promise<PodCounts> {
  const { job, spec, active, rules } = view
  const { control, podWrites, clock } = tools
  const nowMs = clock.now()
  const wait = (ms: number): PodCounts => ({
    ...countsOf(view),
    action: 'pods_created',
    waitMs: Math.max(ms, shortestWaitMs),
  })
  const isPerIndex = hasLimitPerIndex(spec, rules)
  const leftMs = isPerIndex ? 0 : backoffLeftMs(view.backoff, nowMs)
  if (leftMs > 0) return wait(leftMs)
  let indexes: readonly (number | undefined)[] = Array.from({ length: count }, () => undefined)
  if (isIndexed(spec)) {
    const pending = pendingIndexes(view, count)
    const waits = pending.map((index) =>
      indexBackoffLeftMs(view.indexes?.lastFailed.get(index), rules, nowMs),
    )
    indexes = pending.filter((_, position) => waits[position] === 0)
    if (indexes.length === 0 && pending.length > 0) return wait(Math.min(...waits))
  }
  const rest = indexes.values()
  let [created, failed] = [0, 0]
  const { error } = await slowStart(indexes.length, requestsAtOnce, async () => {
    const { value: index } = rest.next()
    const replaced = index === undefined ? undefined : view.indexes?.lastFailed.get(index)
    const { template, generateName } = jobPodTemplate(job, rules, { index, replaced })
    try {
      await podWrites.send(keyOf(job), () => control.create(job, template, generateName))
      created += 1
    } catch (error) {
      if (!isNamespaceTerminating(error)) failed += 1
      throw error
    }
  })
  countCreatedPods(view, tools, { created, failed })
  return {
    ...countsOf(view),
    action: 'pods_created',
    active: active.length + created,
    // A namespace that ends takes no pods, however often it is asked.
    ...(error === undefined || isNamespaceTerminating(error) ? {} : { error }),
  }
}

function countCreatedPods(
  { spec, failed: failedPods, terminating, rules }: JobView,
  { metrics }: JobTools,
  { created, failed }: { readonly created: number; readonly failed: number },
): void {
  let reason = 'new'
  if (rules.gates.JobPodReplacementPolicy) {
    if (spec.podReplacementPolicy === 'Failed' && failedPods > 0) reason = 'recreate_failed'
    else if (failedPods > 0 || terminating > 0) reason = 'recreate_terminating_or_failed'
  }
  if (created > 0) metrics.podsCreated.with(reason, 'succeeded').inc(created)
  if (failed > 0) metrics.podsCreated.with(reason, 'failed').inc(failed)
}

/** Indexes without a pod that still have to succeed. */
function pendingIndexes({ spec, active, pods, indexes, rules }: JobView, count: number): number[] {
  const going = onlyReplacesFailed(spec, rules) ? pods.filter(isTerminating) : []
  const busy = [...active, ...going]
    .map((pod) => completionIndex(pod, rules))
    .filter((index) => index !== undefined)
  const done = mergeIntervals(indexes?.succeeded ?? [], indexes?.failed ?? [])
  return firstMissing(mergeIntervals(done, intervalsOf(busy)), count, spec.completions ?? 0)
}
