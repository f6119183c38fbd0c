/** Placed faults: faults of a file, each with its line, and which of them contradict each other. Pure. */
import { contradictionOf } from './contradictions.ts'
import type { FaultSpec } from './fault-spec.ts'
import { happensAtOnce } from './happens-at-once.ts'

export interface PlacedFault {
  readonly spec: FaultSpec
  /** `faults.yaml:4`. */
  readonly place: string
}

/** Why the second cannot begin while the first holds. */
function conflictOf(first: FaultSpec, second: FaultSpec): string | undefined {
  if (happensAtOnce(first)) return undefined
  if (first.name !== undefined && first.name === second.name)
    return `both are named "${first.name}"`
  return contradictionOf(first, second)
}

/** A line such as `faults.yaml:12 contradicts faults.yaml:4: both set node-1's clock`, for the first of `before` with which the fault cannot hold. */
export function contradictionLine(
  { spec, place }: PlacedFault,
  before: readonly PlacedFault[],
): string | undefined {
  for (const other of before) {
    const why = conflictOf(other.spec, spec)
    if (why !== undefined) return `${place} contradicts ${other.place}: ${why}`
  }
  return undefined
}

/** A line for each fault that cannot hold beside one before it. */
export function contradictionLines(faults: readonly PlacedFault[]): string[] {
  return faults.flatMap((one, index) => contradictionLine(one, faults.slice(0, index)) ?? [])
}
