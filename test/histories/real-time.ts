/** RealTime: between which revisions an operation took place, by what others were answered before and after it. */

/** An answer that names a revision: at `returnMs` it was committed, and if `isCommit` not before `callMs`. */
interface Sighting {
  readonly callMs: number
  readonly returnMs: number
  readonly revision: number
  readonly isCommit: boolean
}

interface Mark {
  readonly atMs: number
  readonly revision: number
}

export class RealTime {
  /** By time: the highest revision that was known by then. */
  readonly #known: readonly Mark[]
  /** By time: the lowest revision of the commits that were asked for since. */
  readonly #asked: readonly Mark[]

  constructor(sightings: readonly Sighting[]) {
    let highest = 0
    this.#known = sightings
      .toSorted((a, b) => a.returnMs - b.returnMs)
      .map(({ returnMs: atMs, revision }) => ({
        atMs,
        revision: (highest = Math.max(highest, revision)),
      }))
    let lowest = Infinity
    this.#asked = sightings
      .filter(({ isCommit }) => isCommit)
      .toSorted((a, b) => b.callMs - a.callMs)
      .map(({ callMs: atMs, revision }) => ({
        atMs,
        revision: (lowest = Math.min(lowest, revision)),
      }))
      .toReversed()
  }

  /** At least this revision was committed before `callMs`. */
  floor(callMs: number): number {
    return lastBefore(this.#known, callMs)?.revision ?? 0
  }

  /** All revisions from this one on were committed after `returnMs`; Infinity if none is known. */
  ceiling(returnMs: number): number {
    return this.#asked.find(({ atMs }) => atMs > returnMs)?.revision ?? Infinity
  }
}

function lastBefore(marks: readonly Mark[], beforeMs: number): Mark | undefined {
  let low = 0
  let high = marks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((marks[middle]?.atMs ?? Infinity) < beforeMs) low = middle + 1
    else high = middle
  }
  return marks[low - 1]
}
