/** ConnectionWatch: since when the cluster has not answered, by what those that follow it tell. */
import { ConnectionError } from '../../components/client/connection-error.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'

export interface Loss {
  readonly sinceMs: number
  readonly why: string
}

export class ConnectionWatch {
  readonly #clock: Clock
  readonly #onLoss: () => void
  #loss: Loss | undefined

  /** `onLoss` is called once for each loss. */
  constructor(clock: Clock, onLoss: () => void) {
    this.#clock = clock
    this.#onLoss = onLoss
  }

  /** Undefined while the cluster answers. */
  get loss(): Loss | undefined {
    return this.#loss
  }

  reached(): void {
    this.#loss = undefined
  }

  /** Errors that are answers, such as 403, are no loss. */
  failed(error: unknown): void {
    if (!(error instanceof ConnectionError) || this.#loss !== undefined) return
    this.#loss = { sinceMs: this.#clock.elapsed(), why: messageOf(error) }
    this.#onLoss()
  }

  /** How long the cluster has not answered. */
  lostForMs(): number {
    return this.#loss === undefined ? 0 : this.#clock.elapsed() - this.#loss.sinceMs
  }
}
