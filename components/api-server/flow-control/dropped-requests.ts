/**
 * DroppedRequests: how long rejected clients of a priority level should wait. The time doubles while many are rejected, and
 * shrinks by a second at a time (upstream: flowcontrol/dropped_requests_tracker.go).
 */

const longestSeconds = 32

interface DroppedSecond {
  readonly second: number
  readonly count: number
}

export class DroppedRequests {
  #second = 0
  #count = 0
  /** Past seconds with rejected requests, oldest first; at most as many as twice the time to wait. */
  #history: DroppedSecond[] = []
  #retryAfter = 1
  #raisedAt = 0

  /** For the `Retry-After` header, in seconds. */
  get retryAfter(): number {
    return this.#retryAfter
  }

  /** Notes a rejected request. `nowMs` is wall-clock time. */
  add(nowMs: number): void {
    const second = Math.floor(nowMs / 1000)
    if (second === this.#second) {
      this.#count += 1
      return
    }
    this.#history.push({ second: this.#second, count: this.#count })
    const oldest = this.#second - Math.min(2 * this.#retryAfter, longestSeconds)
    this.#history = this.#history.filter((one) => one.second >= oldest)
    this.#second = second
    this.#count = 1
    this.#adjust(second)
  }

  /** Looks at the last `retryAfter` seconds. Raises at most once in that time, so that one spike counts once. */
  #adjust(second: number): void {
    const current = this.#retryAfter
    let dropped = 0
    for (const one of this.#history) {
      if (second - one.second <= current && one.second < second) dropped += one.count
    }
    if (second - this.#raisedAt >= current && dropped >= 3 * current) {
      this.#retryAfter = Math.min(2 * current, longestSeconds)
      this.#raisedAt = second
    } else if (dropped < current && current > 1) this.#retryAfter -= 1
  }
}
