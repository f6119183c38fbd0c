/** Turn: when one of many nodes of a process does what all do once in a period, so that they spread evenly over it. Pure. */

export interface Turn {
  /** The node's place in every period, from 0 up to 1, as a share of it. */
  readonly share: number
  /** Where periods begin; the same for all nodes of a process. */
  readonly startMs: number
}

/** The time from then to the node's next turn: more than 0, at most the period. */
export function untilTurn({ share, startMs }: Turn, periodMs: number, nowMs: number): number {
  const passedMs = (nowMs - startMs - share * periodMs) % periodMs
  return passedMs < 0 ? -passedMs : periodMs - passedMs
}
