/**
 * OpenWatches: the watches that a server which ends has to end, at once or one after another (upstream: filters/
 * watch_termination.go, --shutdown-watch-termination-grace-period).
 */
import type { Clock } from '../../component-base/clock.ts'

const stepMs = 100
/** Of the grace period; the rest is for clients that read slowly. */
const share = 0.8

export class OpenWatches {
  readonly #ends = new Set<() => void>()
  #isEnding = false

  /** False once watches end: those that begin then are over. */
  get mayBegin(): boolean {
    return !this.#isEnding
  }

  /** Calls `end` when this watch is to end; not after the call of the returned function. */
  add(end: () => void): () => void {
    this.#ends.add(end)
    return () => void this.#ends.delete(end)
  }

  /** Ends all, evenly over most of the grace period. Resolves when each was told. */
  async endAll(graceMs: number, clock: Pick<Clock, 'sleep'>): Promise<void> {
    this.#isEnding = true
    const steps = Math.max(1, Math.floor((graceMs * share) / stepMs))
    const perStep = Math.ceil(this.#ends.size / steps)
    while (this.#ends.size > 0) {
      for (const end of [...this.#ends].slice(0, perStep)) {
        this.#ends.delete(end)
        end()
      }
      if (this.#ends.size > 0) await clock.sleep(stepMs)
    }
  }
}
