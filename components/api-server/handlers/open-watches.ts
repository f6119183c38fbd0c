/**
 * OpenWatches: the watches that a server which ends has to end, at once or one after another (upstream: filters/
 * watch_termination.go, --shutdown-watch-termination-grace-period).
 */
import type { OpenWatch } from '../../api/request-record.ts'
import type { Clock } from '../../component-base/clock.ts'

const stepMs = 100
/** Of the grace period; the rest is for clients that read slowly. */
const share = 0.8

/** A watch of objects. */
interface Shown {
  /** How it stands. */
  show(): OpenWatch
  /** Has it send what there is. */
  pump(): void
}

export class OpenWatches {
  readonly #open = new Map<() => void, Shown | undefined>()
  #isEnding = false

  /** False once watches end: those that begin then are over. */
  get mayBegin(): boolean {
    return !this.#isEnding
  }

  /**
   * Calls `end` when this watch is to end; not after the call of the returned function. Without `shown`, it is no watch of objects.
   */
  add(end: () => void, shown?: Shown): () => void {
    this.#open.set(end, shown)
    return () => void this.#open.delete(end)
  }

  /** The watches of objects, the oldest first. */
  list(): OpenWatch[] {
    return [...this.#open.values()].flatMap((shown) => shown?.show() ?? [])
  }

  /** Has the watches of objects look again: the faults of the lab have changed. */
  wake(): void {
    for (const shown of this.#open.values()) shown?.pump()
  }

  /** Ends all, evenly over most of the grace period. Resolves when each was told. */
  async endAll(graceMs: number, clock: Pick<Clock, 'sleep'>): Promise<void> {
    this.#isEnding = true
    const steps = Math.max(1, Math.floor((graceMs * share) / stepMs))
    const perStep = Math.ceil(this.#open.size / steps)
    while (this.#open.size > 0) {
      for (const end of [...this.#open.keys()].slice(0, perStep)) {
        this.#open.delete(end)
        end()
      }
      if (this.#open.size > 0) await clock.sleep(stepMs)
    }
  }
}
