/**
 * UnderWay: work that has begun and not ended, for a clock that stands still meanwhile. Work that takes longer than `patienceMs` of
 * `clock` is not waited for: it may itself wait for time to go on.
 */
import type { Clock } from './clock.ts'

export const patienceMs = 2000

export class UnderWay {
  readonly #clock: Pick<Clock, 'elapsed' | 'after'>
  /** What began when, the oldest first. */
  readonly #work = new Map<symbol, number>()
  #changed = Promise.withResolvers<void>()
  #activity = 0
  #onMachine = 0
  /** Of the work, that which waits for time to go on, since when. */
  readonly #stalled = new Map<symbol, number>()

  /** Real time, not the time that stands still. */
  constructor(clock: Pick<Clock, 'elapsed' | 'after'>) {
    this.#clock = clock
  }

  /** Work of the machine's begins, such as opening a socket, of which no one knows how many turns it takes. As `begin`. */
  beginOnMachine(): () => void {
    const end = this.begin()
    this.#onMachine += 1
    let isOver = false
    return () => {
      if (!isOver) this.#onMachine -= 1
      isOver = true
      end()
    }
  }

  /** Whether the machine has work under way. */
  get waitsForMachine(): boolean {
    return this.#onMachine > 0
  }

  /** Work begins; it ends with the first call of the returned function. */
  begin(): () => void {
    this.note()
    const work = Symbol('work')
    this.#work.set(work, this.#clock.elapsed())
    return () => {
      if (!this.#work.delete(work)) return
      this.#changed.resolve()
    }
  }

  /** A piece of the work under way waits for time to go on. It is not waited for until the returned function is called. */
  stall(): () => void {
    const piece = Symbol('stalled')
    this.#stalled.set(piece, this.#clock.elapsed())
    this.#changed.resolve()
    return () => {
      this.#stalled.delete(piece)
      this.note()
    }
  }

  /** Something has happened that other work may follow from, such as an event of a watch. */
  note(): void {
    this.#activity += 1
  }

  /** Grows with all that begins or happens. */
  get activity(): number {
    return this.#activity
  }

  /** Whether there is work to wait for. */
  get isBusy(): boolean {
    const oldestMs = this.#clock.elapsed() - patienceMs
    const isYoung = (beganMs: number): boolean => beganMs > oldestMs
    return this.#young(isYoung).length > 0
  }

  /** Resolves when something has ended, or is no longer waited for; undefined when there is nothing to wait for. `patience`: in milliseconds. */
  next(patience = patienceMs): Promise<void> | undefined {
    if (this.#work.size === 0) return undefined
    const nowMs = this.#clock.elapsed()
    const [oldestMs] = this.#young((beganMs) => nowMs < beganMs + patience)
    if (oldestMs === undefined) return undefined
    this.#changed = Promise.withResolvers()
    const { promise, resolve } = this.#changed
    const cancel = this.#clock.after(oldestMs + patience - nowMs, resolve)
    return promise.finally(cancel)
  }

  /** When what is waited for began: of young work, all but as many as are stalled. */
  #young(isYoung: (beganMs: number) => boolean): number[] {
    const young = [...this.#work.values()].filter(isYoung)
    if (this.#stalled.size === 0) return young
    const stalled = [...this.#stalled.values()].filter(isYoung).length
    return young.slice(0, Math.max(0, young.length - stalled))
  }
}
