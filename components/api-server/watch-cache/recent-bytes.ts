/**
 * RecentBytes: bytes that were made for recent readers and can be made again. Making those of the same objects anew for
 * each get would have the engine collect all memory for their sake, which costs the more, the more objects there are.
 */

/** Who holds bytes that it can make again. */
export interface Remaker {
  letGo(): void
}

export class RecentBytes {
  readonly #mostBytes: number
  /** The oldest first. */
  readonly #held = new Map<Remaker, number>()
  #bytes = 0

  /** Holds `mostBytes` at most, and what was noted last. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** Counts the bytes that `holder` has made. Those who made theirs longest ago drop them. */
  note(holder: Remaker, length: number): void {
    this.#held.set(holder, length)
    this.#bytes += length
    for (const [oldest, itsLength] of this.#held) {
      if (this.#bytes <= this.#mostBytes || oldest === holder) return
      this.#held.delete(oldest)
      this.#bytes -= itsLength
      oldest.letGo()
    }
  }
}
