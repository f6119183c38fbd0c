/** Sets of tolerations: merged, and compared with those that are allowed (upstream: pkg/util/tolerations). */
import type { Toleration } from '../../api/generated/types.ts'
import { deepEqual } from '../../machinery/objects/object.ts'

/** Whether `wide` tolerates all that `narrow` does. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  if (deepEqual(wide, narrow)) return true
  const takesAnyKey = !wide.key && wide.operator === 'Exists'
  if ((narrow.key ?? '') !== (wide.key ?? '') && !takesAnyKey) return false
  if (wide.effect && narrow.effect !== wide.effect) return false
  if (wide.effect === 'NoExecute' && (wide.tolerationSeconds ?? undefined) !== undefined) {
    const seconds = narrow.tolerationSeconds ?? Infinity
    if (seconds > (wide.tolerationSeconds ?? 0)) return false
  }
  if (wide.operator === 'Exists') return true
  return narrow.operator !== 'Exists' && (narrow.value ?? '') === (wide.value ?? '')
}

/** All of both, but those that another covers. */
export function mergeTolerations(
  first: readonly Toleration[],
  second: readonly Toleration[],
): Toleration[] {
  const all = [...first, ...second]
  const merged: Toleration[] = []
  for (const [i, one] of all.entries()) {
    if (merged.some((kept) => covers(kept, one))) continue
    const later = all.slice(i + 1)
    if (later.some((next) => !deepEqual(next, one) && covers(next, one))) continue
    merged.push(one)
  }
  return merged
}

/** Whether each toleration is covered by one that is allowed. An empty list allows all. */
export function areAllowed(
  tolerations: readonly Toleration[],
  allowed: readonly Toleration[],
): boolean {
  if (allowed.length === 0) return true
  return tolerations.every((one) => allowed.some((wide) => covers(wide, one)))
}
