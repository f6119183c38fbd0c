/** Conditions of a status: found by type, and replaced so that lastTransitionTime moves only with the status. */

export interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
}

export function findCondition<C extends { type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type)
}

/**
 * The list with this condition in it. One that has the same status and reason stays as it is (upstream: the workloads'
 * SetCondition), so a changed message alone is no change; otherwise the new one goes to the end.
 */
export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  condition: C,
): readonly C[] {
  const old = findCondition(conditions, condition.type)
  if (old?.status === condition.status && old.reason === condition.reason) return conditions ?? []
  const isSameStatus = old?.status === condition.status && old.lastTransitionTime !== undefined
  const next = isSameStatus
    ? { ...condition, lastTransitionTime: old.lastTransitionTime }
    : condition
  return [...withoutCondition(conditions, condition.type), next as C]
}

export function withoutCondition<C extends { type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): readonly C[] {
  return (conditions ?? []).filter((condition) => condition.type !== type)
}
