/** conditionSpans: how the conditions of an object changed, from its versions. Pure. */

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

/** What may have conditions. */
export interface WithStatus {
  readonly metadata?: unknown
  readonly status?: unknown
}

/** A condition had a status from then on, until the next one of its type. */
export interface ConditionSpan extends Condition {
  /** NaN when the condition does not say. */
  readonly fromMs: number
}

export function conditionsOf(object: WithStatus): Condition[] {
  const { status } = object
  if (typeof status !== 'object' || status === null || !('conditions' in status)) return []
  const { conditions } = status
  if (!Array.isArray(conditions)) return []
  return conditions.filter(
    (one: unknown): one is Condition =>
      typeof one === 'object' && one !== null && 'type' in one && 'status' in one,
  )
}

/** Type -> its spans, the oldest first. `versions` begin with the oldest; one version gives the last transitions alone. */
export function conditionSpans(
  versions: readonly WithStatus[],
): ReadonlyMap<string, readonly ConditionSpan[]> {
  const spans = new Map<string, ConditionSpan[]>()
  for (const version of versions) {
    for (const condition of conditionsOf(version)) {
      const known = spans.get(condition.type) ?? []
      const last = known.at(-1)
      if (last?.status === condition.status && last.reason === condition.reason) continue
      const time = condition.lastTransitionTime ?? ''
      known.push({ ...condition, fromMs: Date.parse(time) })
      spans.set(condition.type, known)
    }
  }
  return spans
}
