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

  /** Real time, not the time that stands still. */
  constructor(clock: Pick<Clock, 'elapsed' | 'after'>) {
    this.#clock = clock
  }

  /** Work begins; it ends with the first call of the returned function. */
  begin(): () => void {
    const work = Symbol('work')
    this.#work.set(work, this.#clock.elapsed())
    return () => {
      if (!this.#work.delete(work)) return
      this.#changed.resolve()
    }
  }

  /** Resolves when something has ended, or is no longer waited for; undefined when there is nothing to wait for. */
  next(): Promise<void> | undefined {
    if (this.#work.size === 0) return undefined
    const nowMs = this.#clock.elapsed()
    const youngMs = [...this.#work.values()].filter((beganMs) => nowMs < beganMs + patienceMs)
    const [oldestMs] = youngMs
    if (oldestMs === undefined) return undefined
    this.#changed = Promise.withResolvers()
    const { promise, resolve } = this.#changed
    const cancel = this.#clock.after(oldestMs + patienceMs - nowMs, resolve)
    return promise.finally(cancel)
  }
}
