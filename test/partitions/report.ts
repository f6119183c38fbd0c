/** What a drill is asked for, and what it says at its end. */

export interface DrillOptions {
  readonly seed: number
  /** How many API servers. */
  readonly servers: number
  /** Whether clients write through the first server alone or through all; they read through all. */
  readonly writers: 'first' | 'all'
  /** Random faults that overlap for so long; absent: every kind once, one after the other. */
  readonly faultsMs?: number
  /** The built API server. */
  readonly program: string
}

export interface DrillReport {
  readonly seed: number
  readonly faults: number
  /** Members of etcd that lost their disk, each with a new member in its place. */
  readonly replacements: number
  /** Of single objects. */
  readonly operations: number
  readonly acknowledgedWrites: number
  /** Writes that may or may not have happened, when the client stopped waiting. */
  readonly unknownWrites: number
  /** Of those, how many happened. */
  readonly committedUnknowns: number
  readonly lists: number
  readonly watches: number
  readonly watchEvents: number
  readonly bookmarks: number
  readonly commits: number
  /** Watches that had to list again. */
  readonly relists: number
  /** From the end of the last fault until every server wrote again. */
  readonly recoveryMs: number
  readonly violations: readonly string[]
  /** Keys with too many operations to decide whether they are linearizable. */
  readonly undecided: readonly string[]
}
