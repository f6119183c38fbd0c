/** Questions that controllers ask about a pod's status (upstream: pkg/api/v1/pod, pkg/controller). Pure. */
import type { Pod, PodCondition } from '../api/generated/types.ts'
import { findCondition } from './conditions.ts'

/** It ended and will not run again. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

/** It counts as one of a workload's pods: neither ended nor on its way out. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined
}

export function readyCondition(pod: Pod): PodCondition | undefined {
  return findCondition(pod.status?.conditions, 'Ready')
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === 'True'
}

/** When the pod became ready, in ms; undefined when it is not ready or does not say since when. */
export function readySinceMs(pod: Pod): number | undefined {
  const condition = readyCondition(pod)
  if (condition?.status !== 'True' || condition.lastTransitionTime === undefined) return undefined
  return Date.parse(condition.lastTransitionTime)
}

/** How long until a ready pod counts as available; 0 when it does already, undefined when it is not ready. */
export function availableInMs(
  pod: Pod,
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  if (!isReady(pod)) return undefined
  if (minReadySeconds === 0) return 0
  const since = readySinceMs(pod)
  return since === undefined ? undefined : Math.max(0, since + minReadySeconds * 1000 - nowMs)
}

/** When the next ready pod becomes available; undefined when none is on the way. */
export function nextAvailableInMs(
  pods: readonly Pod[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  const waits = pods
    .map((pod) => availableInMs(pod, minReadySeconds, nowMs) ?? 0)
    .filter((ms) => ms > 0)
  return waits.length === 0 ? undefined : Math.min(...waits)
}

/** The pod's conditions with one of them set; a change of status moves its lastTransitionTime. */
export function withPodCondition(
  pod: Pod,
  condition: { type: string; status: string; reason?: string; message?: string },
  now: string,
): PodCondition[] {
  const conditions = pod.status?.conditions ?? []
  const old = findCondition(conditions, condition.type)
  const isSame = old?.status === condition.status && old.lastTransitionTime !== undefined
  const next = { ...condition, lastTransitionTime: isSame ? (old.lastTransitionTime ?? now) : now }
  if (old === undefined) return [...conditions, next]
  return conditions.map((other) => (other === old ? next : other))
}
