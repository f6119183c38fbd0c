/** A pod that was to be disrupted and is still there after two minutes is no target any more (upstream: disruption.go). */
import type { Pod } from '../../api/generated/types.ts'
import { findCondition } from '../conditions.ts'
import { isActive } from '../pod-state.ts'

const staleAfterMs = 2 * 60_000

/**
 * Milliseconds until the condition DisruptionTarget is stale, 0 when it is; undefined for a pod that has none, or ends. The
 * node agent's own says that the pod is about to end, however long that takes.
 */
export function staleInMs(pod: Pod, nowMs: number): number | undefined {
  const condition = findCondition(pod.status?.conditions, 'DisruptionTarget')
  const isTarget = condition?.status === 'True' && condition.reason !== 'TerminationByKubelet'
  if (!isTarget || !isActive(pod)) return undefined
  const sinceMs = Date.parse(condition.lastTransitionTime ?? '')
  return Number.isNaN(sinceMs) ? 0 : Math.max(0, sinceMs + staleAfterMs - nowMs)
}
