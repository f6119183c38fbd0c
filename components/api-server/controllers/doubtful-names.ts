/** doubtful-names: what the small controllers inside the server share: objects that a change may have made wrong are settled. */
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'

const retryMs = 1000

export interface DoubtfulNamesOptions {
  /** Makes the object of that name right, or finds it so. */
  readonly settle: (name: string) => Promise<void>
  /** What the log says when that fails; it is tried again. */
  readonly failure: string
  /** How many are settled at a time, so that their writes share flushes; default 1. */
  readonly atOnce?: number
  readonly clock: Clock
  readonly log: Log
}

export class DoubtfulNames {
  readonly #options: DoubtfulNamesOptions
  readonly #names = new Set<string>()
  #wake = (): void => {}

  constructor(options: DoubtfulNamesOptions) {
    this.#options = options
  }

  add(name: string): void {
    this.#names.add(name)
    this.#wake()
  }

  /** Settles what is added, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { atOnce = 1 } = this.#options
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    try {
      while (!signal.aborted) {
        if (this.#names.size === 0) {
          await new Promise<void>((resolve) => (this.#wake = resolve))
          continue
        }
        const batch = [...this.#names].slice(0, atOnce)
        for (const name of batch) this.#names.delete(name)
        await Promise.all(batch.map((name) => this.#settle(name, signal)))
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #settle(name: string, signal: AbortSignal): Promise<void> {
    const { settle, failure, clock, log } = this.#options
    try {
      await settle(name)
    } catch (error) {
      // Another write was first: its event brings the name back here.
      if (isStatusError(error, 'Conflict', 'NotFound', 'AlreadyExists')) return
      log.warn(failure, { name, error })
      await clock.sleep(retryMs, signal)
      this.#names.add(name)
    }
  }
}
