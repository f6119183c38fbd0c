/** RevisionMarks: how far a cache was at past moments, as long as its history reaches back. */

export class RevisionMarks {
  readonly #keptMs: number
  /** Oldest first. */
  #marks: { readonly atMs: number; readonly revision: number }[] = []
  #start = 0

  constructor(keptMs: number) {
    this.#keptMs = keptMs
  }

  /** How far the cache was when the history began. */
  get start(): number {
    return this.#start
  }

  note(nowMs: number, revision: number): void {
    this.#marks.push({ atMs: nowMs, revision })
    while ((this.#marks[0]?.atMs ?? nowMs) <= nowMs - this.#keptMs) {
      this.#start = this.#marks.shift()?.revision ?? 0
    }
  }

  clear(): void {
    this.#marks = []
    this.#start = 0
  }
}
