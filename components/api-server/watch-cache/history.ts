/**
 * History: the commits that watches and exact reads can go back to, over all collections, oldest first. A commit leaves it when
 * it is older than `maxAgeMs`, or when all together hold more than `maxBytes`; a client that asks for an older revision gets 410.
 */
import type { Collection } from './collection.ts'
import type { CacheEvent } from './entry.ts'

/** The default limit of what history may hold (docs/performance.md). */
export const defaultHistoryBytes = 64 * 1024 * 1024

export interface KeptEvent {
  readonly collection: Collection
  readonly event: CacheEvent
}

export class History {
  readonly #maxAgeMs: number
  readonly #maxBytes: number
  #kept: (KeptEvent | undefined)[] = []
  /** Where the oldest is in `#kept`. */
  #head = 0
  #bytes = 0
  #cutRevision = 0
  #beganMs = 0
  readonly #count = (bytes: number): void => {
    this.#bytes += bytes
  }

  constructor(options: { maxAgeMs: number; maxBytes: number }) {
    this.#maxAgeMs = options.maxAgeMs
    this.#maxBytes = options.maxBytes
  }

  /** From when on it is kept. */
  begin(nowMs: number): void {
    this.#beganMs = nowMs
  }

  /** The newest revision at that time, where `newest` is that of `nowMs`; undefined when history does not reach as far back. */
  revisionAt(
    atMs: number,
    now: { readonly nowMs: number; readonly newest: number },
  ): number | undefined {
    if (atMs < this.#beganMs || atMs < now.nowMs - this.#maxAgeMs) return undefined
    let revision = now.newest
    for (const event of this.newestFirst()) {
      if (event.appliedAtMs <= atMs) break
      revision = event.revision - 1
    }
    return revision < this.#cutRevision ? undefined : revision
  }

  /** What the kept commits hold beyond the newest state: replaced objects and encoded frames. */
  get bytes(): number {
    return this.#bytes
  }

  /** What is kept, the newest first. */
  *newestFirst(): IterableIterator<CacheEvent> {
    for (let at = this.#kept.length - 1; at >= this.#head; at -= 1) {
      const kept = this.#kept[at]
      if (kept !== undefined) yield kept.event
    }
  }

  /** The newest revision that left because of the bytes; 0 if none has. */
  get cutRevision(): number {
    return this.#cutRevision
  }

  /** Adds the newest commit. Trims first, so that the newest one stays for those who follow, whatever its size. */
  add(kept: KeptEvent): void {
    this.trim(kept.event.appliedAtMs)
    this.#kept.push(kept)
    this.#bytes += kept.event.bytes
    kept.event.onGrowth = this.#count
  }

  /** Adds commits from before the oldest, themselves oldest first. */
  addEarlier(earlier: readonly KeptEvent[]): void {
    this.#kept = [...earlier, ...this.#kept.slice(this.#head)]
    this.#head = 0
    for (const { event } of earlier) {
      this.#bytes += event.bytes
      event.onGrowth = this.#count
    }
  }

  /** Drops everything; its collections begin anew. */
  clear(): void {
    for (let at = this.#head; at < this.#kept.length; at += 1) {
      const kept = this.#kept[at]
      if (kept !== undefined) kept.event.onGrowth = undefined
    }
    this.#kept = []
    this.#head = 0
    this.#bytes = 0
  }

  /** Drops what is too old or too much. */
  trim(nowMs: number): void {
    const limitMs = nowMs - this.#maxAgeMs
    for (;;) {
      const oldest = this.#kept[this.#head]
      if (oldest === undefined) break
      const { collection, event } = oldest
      const isTooMuch = this.#bytes > this.#maxBytes
      if (!isTooMuch && event.appliedAtMs >= limitMs) break
      if (isTooMuch) this.#cutRevision = event.revision
      this.#kept[this.#head] = undefined
      this.#head += 1
      this.#bytes -= event.bytes
      event.onGrowth = undefined
      collection.drop(event)
    }
    if (this.#head > 1024 && this.#head * 2 > this.#kept.length) {
      this.#kept = this.#kept.slice(this.#head)
      this.#head = 0
    }
  }
}
