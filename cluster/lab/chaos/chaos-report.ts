/** What a chaos is asked for, and what it says of itself. */
import type { ChaosMix } from './chaos-mix.ts'
import type { PlannedFault } from './plan-chaos.ts'

export interface ChaosSpec {
  /** Default: one drawn by the cluster. */
  readonly seed?: number
  /** Of the cluster's clock. */
  readonly forMs: number
  /** Default: all that the form of the cluster can do. */
  readonly mix?: ChaosMix
  /** Faults that were drawn before, instead of drawing them. */
  readonly plan?: readonly PlannedFault[]
}

export interface ChaosReport {
  readonly seed: number
  readonly forMs: number
  /** How long it has gone on. */
  readonly tookMs: number
  readonly isOver: boolean
  /** Those of the mix, in its order. */
  readonly faults: readonly {
    readonly what: string
    /** How many faults it stands for in this cluster: 0 where no part can have it. */
    readonly parts: number
    /** How often it was begun, and how often it fired. */
    readonly begun: number
    readonly fired: number
  }[]
  /** Those that the cluster could not have at their time. */
  readonly refused: readonly {
    readonly fault: string
    readonly what: string
    readonly why: string
  }[]
}

/** Those of the mix that were begun, and matched nothing. */
export function silentFaults({ faults }: ChaosReport): ChaosReport['faults'] {
  return faults.filter(({ begun, fired }) => begun > 0 && fired === 0)
}
