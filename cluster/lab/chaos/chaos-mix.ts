/** ChaosMix: the faults of which a chaos is made, how often each is taken, and for how long. */
import type { FaultSpec } from '../fault-spec.ts'

/** One fault of a mix. */
export interface ChaosEntry {
  /** Without name, `forMs` and `times`. A part may be `*`: any part of the cluster that can have the fault. */
  readonly fault: FaultSpec
  /** How often it is taken, beside the others'. Default 1. */
  readonly weight?: number
  /** How long it lasts: a time between these two. A kill or a reboot happens at once. Default: 5 s to 1 min. */
  readonly forMs?: readonly [least: number, most: number]
}

export interface ChaosMix {
  /** Mean time from the beginning of one fault to that of the next. */
  readonly everyMs: number
  readonly faults: readonly ChaosEntry[]
}

export const chaosDefaults = { weight: 1, forMs: [5000, 60_000] as const }
