/**
 * RevisionReads: reads the newest revision of a store that others write to. One read is under way at a time; all who ask until the
 * next one is sent share that (model: etcd's ReadIndex). While many ask at once, the next read waits for those who have just been
 * answered, at most as long as the last read took: a read takes the processors more time than several answers.
 */
import type { Clock } from '../../component-base/clock.ts'
import { nextTurn } from '../../component-base/next-turn.ts'

/** Fewer readers do not wait for each other. */
const many = 4
/** Limits of the wait. */
const [leastMs, mostMs] = [1, 5]

interface Shared {
  readers: number
  readonly revision: Promise<number>
  /** So many readers are waited for. */
  wanted: number
  /** Called when they are there. */
  onFull: (() => void) | undefined
}

export class RevisionReads {
  readonly #read: () => Promise<number>
  readonly #clock: Clock
  #underWay: Promise<unknown> | undefined
  /** The read that is to be sent. */
  #next: Shared | undefined
  /** How many shared the last read. */
  #lastReaders = 0
  #lastReadMs = 0

  constructor(read: () => Promise<number>, clock: Clock) {
    this.#read = read
    this.#clock = clock
  }

  /** At least the newest revision at the call. Rejects as the read that it waits for. */
  async revision(): Promise<number> {
    // The one under way may have been answered already: only one that is sent later counts.
    this.#next ??= { readers: 0, revision: this.#sendLater(), wanted: 0, onFull: undefined }
    const next = this.#next
    next.readers += 1
    if (next.readers === next.wanted) next.onFull?.()
    return await next.revision
  }

  async #sendLater(): Promise<number> {
    // Those who wait for that one get its error.
    const before = this.#underWay
    await before?.catch(() => {})
    const next = this.#next
    if (next !== undefined) {
      // Those who have just been answered may ask again, besides those who came meanwhile.
      next.wanted = this.#lastReaders + (before === undefined ? 0 : next.readers)
      await this.#gather(next)
    }
    // Requests of other connections that have come in the same turn share the read.
    await nextTurn()
    this.#lastReaders = this.#next?.readers ?? 0
    this.#next = undefined
    const sentMs = this.#clock.elapsed()
    const sent = this.#read().finally(() => {
      this.#lastReadMs = this.#clock.elapsed() - sentMs
      this.#underWay = undefined
    })
    this.#underWay = sent
    return await sent
  }

  /** Resolves when as many wait as are wanted, or the time is over. */
  async #gather(next: Shared): Promise<void> {
    if (next.wanted < many || next.readers >= next.wanted) return
    const waitMs = Math.min(Math.max(this.#lastReadMs, leastMs), mostMs)
    await new Promise<void>((resolve) => {
      const stopTimer = this.#clock.after(waitMs, resolve)
      next.onFull = () => {
        stopTimer()
        resolve()
      }
    })
  }
}
