/** Questions about one pod of a Job. Pure. */
import type { ContainerStatus, JobSpec, Pod } from '../../api/generated/types.ts'
import { findCondition } from '../conditions.ts'
import { isTerminal } from '../pod-state.ts'
import type { JobRules } from './job-rules.ts'
import { onlyReplacesFailed } from './job-rules.ts'

const maxInt32 = 2 ** 31 - 1

export function uidOf({ metadata }: Pod): string {
  return metadata.uid ?? ''
}

/** The Job has not counted it yet, or is about to. */
export function hasTrackingFinalizer({ metadata }: Pod, { finalizer }: JobRules): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false
}

/** Being deleted and not yet ended. */
export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && !isTerminal(pod)
}

/** Failed, or as good as failed: what is being deleted may never report an end. */
export function isPodFailed(pod: Pod, spec: JobSpec, rules: JobRules): boolean {
  if (pod.status?.phase === 'Failed') return true
  return !onlyReplacesFailed(spec, rules) && isTerminating(pod)
}

function countIn(text: string | undefined): number | undefined {
  if (text === undefined || !/^\+?[0-9]+$/.test(text)) return undefined
  return Number(text)
}

/** The pod's completion index; undefined when it has none, or not one below `completions`. */
export function completionIndex(
  { metadata }: Pod,
  rules: JobRules,
  completions = Infinity,
): number | undefined {
  const index = countIn(metadata.annotations?.[rules.indexKey])
  return index !== undefined && index < completions ? index : undefined
}

function annotatedCount({ metadata }: Pod, key: string): number {
  const count = countIn(metadata.annotations?.[key]) ?? 0
  return count > maxInt32 ? 0 : count
}

/** How often the index had failed when this pod was made: failures that count, and those that a rule ignored. */
export function indexFailures(pod: Pod, rules: JobRules): { counted: number; ignored: number } {
  return {
    counted: annotatedCount(pod, rules.failureCountKey),
    ignored: annotatedCount(pod, rules.ignoredFailureCountKey),
  }
}

/**
 * When the pod ended, in ms: by its containers, else since it is not ready, else when it was deleted, else when it was made
 * (upstream: backoff_utils.go getFinishedTime).
 */
export function finishedMs(pod: Pod): number {
  return (
    containersFinishedMs(pod) ??
    notReadySinceMs(pod) ??
    deletedMs(pod) ??
    Date.parse(pod.metadata.creationTimestamp ?? '')
  )
}

function containersFinishedMs({ spec, status }: Pod): number | undefined {
  const sidecars = new Set(
    (spec?.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === 'Always')
      .map(({ name }) => name),
  )
  const counted: readonly ContainerStatus[] = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ]
  const ends = counted.map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''))
  return ends.length === 0 || ends.some(Number.isNaN) ? undefined : Math.max(...ends)
}

function notReadySinceMs({ status }: Pod): number | undefined {
  const ready = findCondition(status?.conditions, 'Ready')
  if (ready?.status !== 'False' || ready.lastTransitionTime === undefined) return undefined
  return Date.parse(ready.lastTransitionTime)
}

function deletedMs({ metadata }: Pod): number | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata
  if (deletionTimestamp === undefined) return undefined
  return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000
}
