/** Backend: one API server behind the balancer: whether it is ready, and how many connections it has. */
import { formatEndpoint } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'

export interface Thresholds {
  /** Successful checks in a row after which it is ready. */
  readonly healthy: number
  /** Failed checks in a row after which it is not. */
  readonly unhealthy: number
}

export class Backend {
  readonly endpoint: Endpoint
  readonly name: string
  readonly #thresholds: Thresholds
  #isReady = false
  #isChecked = false
  /** Checks in a row that contradict `#isReady`. */
  #streak = 0
  /** Open connections, those being made included. */
  connections = 0

  constructor(endpoint: Endpoint, thresholds: Thresholds) {
    this.endpoint = endpoint
    this.name = formatEndpoint(endpoint)
    this.#thresholds = thresholds
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** Takes the result of a check; the first one decides alone. Returns true when `isReady` has changed. */
  checked(succeeded: boolean): boolean {
    const isFirst = !this.#isChecked
    this.#isChecked = true
    this.#streak = succeeded === this.#isReady ? 0 : this.#streak + 1
    const { healthy, unhealthy } = this.#thresholds
    const enough = this.#isReady ? unhealthy : healthy
    if (succeeded === this.#isReady || (!isFirst && this.#streak < enough)) return false
    this.#isReady = succeeded
    this.#streak = 0
    return true
  }
}
