/** first-difference: where the two timelines of a finding part. Pure. */
import type { FindingRow } from './read-finding.ts'

/** One side is missing, or the same request met another answer or a fault. */
export function isDifferent({ reference, plan }: FindingRow): boolean {
  if (reference === undefined || plan === undefined) return true
  return reference.status !== plan.status || reference.fault !== plan.fault
}

/** Undefined: they are the same. */
export function firstDifference(rows: readonly FindingRow[]): number | undefined {
  const index = rows.findIndex(isDifferent)
  return index < 0 ? undefined : index
}
