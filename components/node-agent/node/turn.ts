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

/**
 * How many turns a period has. Work that comes together meets warm caches, and shares reads, writes and commits: the renewal of a
 * lease costs a third of what it costs alone. Every ten seconds, a turn comes every 250 ms, with 31 nodes of 1,250.
 */
const turnsInPeriod = 40

/** The turn of one of so many nodes; each turn has as many nodes as any other, give or take one. */
export function turnOf(index: number, count: number, startMs: number): Turn {
  return { share: Math.floor((index * turnsInPeriod) / count) / turnsInPeriod, startMs }
}

/** The time from then to the turn that is nearest to a period later, so that nodes keep their turns for ever. */
export function untilNextTurn(turn: Turn, periodMs: number, nowMs: number): number {
  return periodMs / 2 + untilTurn(turn, periodMs, nowMs + periodMs / 2)
}
