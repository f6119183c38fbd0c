/** Lab: the clock and the faults of a cluster. Both forms of a cluster have one; scenarios, code, commands and the console use it. */
import type { ChaosReport, ChaosSpec } from './chaos/chaos-report.ts'
import type { FaultSpec, FaultStatus } from './fault-spec.ts'

export interface TimeState {
  /** The cluster's time, in milliseconds since the epoch. */
  readonly nowMs: number
  /** 0: paused. 1: as fast as real time. */
  readonly speed: number
  /** How far it is ahead of real time. */
  readonly aheadMs: number
  /** Components that do not follow the clock. */
  readonly apart: readonly string[]
}

export interface LabTime {
  state(): Promise<TimeState>
  pause(): Promise<TimeState>
  /** At the speed it had before. */
  resume(): Promise<TimeState>
  /** `speed` from 0.01 to 1000. */
  speed(speed: number): Promise<TimeState>
  /** Time moves on; all that falls due on the way happens in its order. Rejects for a negative time: clocks never go back. */
  advance(by: { readonly ms: number } | { readonly toMs: number }): Promise<TimeState>
  /** Moves on to the next moment at which something is due, which happens. Where nothing is due, time stays. */
  step(): Promise<TimeState>
  /**
   * Advances until nothing is due within `idleMs` (default 10 s) but what recurs, and nothing is in flight. Rejects when `mostMs` (default
   * an hour) of the cluster's time does not suffice, and names what is due.
   */
  settle(options?: { readonly idleMs?: number; readonly mostMs?: number }): Promise<TimeState>
}

export interface LabFaults {
  /** Resolves when the fault is active. Rejects for one that contradicts an active one, naming both. */
  add(spec: FaultSpec): Promise<FaultStatus>
  /** Also those that have ended, oldest first. */
  list(): Promise<readonly FaultStatus[]>
  /** Ends the fault of this name, or all. Rejects for a name that no active fault has. */
  heal(name?: string): Promise<readonly FaultStatus[]>
}

export interface LabChaos {
  /** Resolves when it has begun. Rejects while there is one already. */
  begin(spec: ChaosSpec): Promise<ChaosReport>
  /** Resolves when it is over, or was stopped. Rejects when there was none. */
  over(): Promise<ChaosReport>
  /** Ends it now and heals its faults. */
  stop(): Promise<ChaosReport>
}

export interface Lab {
  readonly time: LabTime
  readonly faults: LabFaults
  readonly chaos: LabChaos
}
