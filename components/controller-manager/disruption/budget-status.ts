/** The status of a PodDisruptionBudget (upstream: disruption.go, component-helpers apps/poddisruptionbudget). Pure. */
import type {
  Condition,
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
} from '../../api/generated/types.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import { findCondition } from '../conditions.ts'
import { isReady } from '../pod-state.ts'
import type { Expectation } from './expected-pods.ts'

/** An eviction that was granted must be seen to happen within this; then its pod counts again. */
const deletionTimeoutMs = 2 * 60_000

export interface Disrupted {
  /** Pods whose eviction was granted and has not shown yet, by name, with the time of the grant. */
  readonly pods: Readonly<Record<string, string>>
  /** Pods whose eviction was granted long ago and never happened. */
  readonly overdue: readonly Pod[]
  /** When the next one becomes overdue. */
  readonly nextInMs: number | undefined
}

export function disruptedPods(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  nowMs: number,
): Disrupted {
  const granted = budget.status?.disruptedPods ?? {}
  const waiting: Record<string, string> = {}
  const overdue: Pod[] = []
  let nextInMs: number | undefined
  for (const pod of pods) {
    const { name = '', deletionTimestamp } = pod.metadata
    const grantedAt = getOwn(granted, name)
    if (deletionTimestamp !== undefined || grantedAt === undefined) continue
    const leftMs = Date.parse(grantedAt) + deletionTimeoutMs - nowMs
    if (leftMs < 0) {
      overdue.push(pod)
      continue
    }
    waiting[name] = grantedAt
    nextInMs = Math.min(nextInMs ?? leftMs, leftMs)
  }
  return { pods: waiting, overdue, nextInMs }
}

function healthyPods(pods: readonly Pod[], disrupted: Readonly<Record<string, string>>): number {
  return pods.filter(({ metadata, ...pod }) => {
    const isGoing =
      metadata.deletionTimestamp !== undefined || Object.hasOwn(disrupted, metadata.name ?? '')
    return !isGoing && isReady({ metadata, ...pod })
  }).length
}

/** The conditions with DisruptionAllowed as it is now. */
function withDisruptionAllowed(
  conditions: readonly Condition[] | undefined,
  wanted: Omit<Condition, 'type' | 'lastTransitionTime'>,
  now: string,
): Condition[] {
  const type = 'DisruptionAllowed'
  const old = findCondition(conditions, type)
  const lastTransitionTime = old?.status === wanted.status ? old.lastTransitionTime : now
  const next: Condition = { type, ...wanted, lastTransitionTime }
  if (old === undefined) return [...(conditions ?? []), next]
  return (conditions ?? []).map((one) => (one === old ? next : one))
}

/** The status that the budget is to have. */
export function budgetStatus(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  at: { expectation: Expectation; disrupted: Disrupted; now: string },
): PodDisruptionBudgetStatus {
  const { expectation, disrupted, now } = at
  const { expectedPods, desiredHealthy } = expectation
  const currentHealthy = healthyPods(pods, disrupted.pods)
  // Without pods none may go: the first that appear are safe until they have been counted.
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
  const { generation: observedGeneration = 0 } = budget.metadata
  const conditions = withDisruptionAllowed(
    budget.status?.conditions,
    {
      status: disruptionsAllowed > 0 ? 'True' : 'False',
      reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
      message: '',
      observedGeneration,
    },
    now,
  )
  const names = Object.keys(disrupted.pods)
  return {
    ...(names.length === 0 ? {} : { disruptedPods: { ...disrupted.pods } }),
    currentHealthy,
    desiredHealthy,
    disruptionsAllowed,
    expectedPods,
    observedGeneration,
    conditions,
  }
}

/** The status of a budget whose pods cannot be counted: nothing may go. */
export function failedStatus(
  { status }: PodDisruptionBudget,
  at: { why: string; now: string },
): PodDisruptionBudgetStatus {
  const conditions = withDisruptionAllowed(
    status?.conditions,
    {
      status: 'False',
      reason: 'SyncFailed',
      message: at.why,
      ...(status?.observedGeneration === undefined
        ? {}
        : { observedGeneration: status.observedGeneration }),
    },
    at.now,
  )
  const counted = { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }
  return { ...counted, ...status, disruptionsAllowed: 0, conditions }
}
