/** JournalFollower: one reader of new records, with a bounded queue. A slow reader misses records and gets their number. */
import type { KeptRequest } from './kept-request.ts'

/** More records that wait are dropped. */
const mostWaiting = 2000

/** Which records a reader wants. */
export type Wanted = (record: KeptRequest) => boolean

/** What a reader gets: a record, or how many it has missed in their place. */
export type Taken = KeptRequest | { readonly missed: number }

export class JournalFollower {
  readonly #wanted: Wanted
  readonly #onClose: () => void
  #waiting: KeptRequest[] = []
  #missed = 0
  #isClosed = false
  #wake: (() => void) | undefined

  constructor(wanted: Wanted, onClose: () => void) {
    this.#wanted = wanted
    this.#onClose = onClose
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Queues the record if it is wanted. Records after one that found no room are missed until the reader takes the queue. */
  offer(record: KeptRequest): void {
    if (!this.#wanted(record)) return
    if (this.#waiting.length >= mostWaiting) this.#missed += 1
    else this.#waiting.push(record)
    this.#wakeUp()
  }

  /** Everything that waits, oldest first. */
  take(): Taken[] {
    const taken: Taken[] = this.#waiting
    if (this.#missed > 0) taken.push({ missed: this.#missed })
    this.#waiting = []
    this.#missed = 0
    return taken
  }

  /** Resolves when something waits, or the follower is closed. */
  async ready(): Promise<void> {
    if (this.#isClosed || this.#waiting.length > 0) return
    await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  /** Nothing more is queued. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#waiting = []
    this.#missed = 0
    this.#onClose()
    this.#wakeUp()
  }

  #wakeUp(): void {
    this.#wake?.()
    this.#wake = undefined
  }
}
