/** SeatIntegrator: average, deviation and extremes of a number over time (upstream: fairqueuing/integrator.go). */

export interface SeatStatistics {
  readonly seconds: number
  /** Weighted by time; NaN while no time has passed. */
  readonly average: number
  readonly deviation: number
  readonly min: number
  readonly max: number
}

export class SeatIntegrator {
  #sinceMs: number
  #value = 0
  #min = 0
  #max = 0
  #seconds = 0
  #sum = 0
  #squares = 0

  /** Times are of `Clock.elapsed`. */
  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  get value(): number {
    return this.#value
  }

  set(value: number, nowMs: number): void {
    this.#advance(nowMs)
    this.#value = value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
  }

  #advance(nowMs: number): void {
    const seconds = (nowMs - this.#sinceMs) / 1000
    if (seconds <= 0) return
    this.#sinceMs = nowMs
    this.#seconds += seconds
    this.#sum += this.#value * seconds
    this.#squares += this.#value * this.#value * seconds
  }

  /** From the last reset until now. */
  read(nowMs: number): SeatStatistics {
    this.#advance(nowMs)
    const seconds = this.#seconds
    const average = seconds > 0 ? this.#sum / seconds : NaN
    const variance = seconds > 0 ? this.#squares / seconds - average * average : NaN
    // Rounding can make the variance of a constant a little less than none.
    const deviation = variance < 0 ? 0 : Math.sqrt(variance)
    return { seconds, average, deviation, min: this.#min, max: this.#max }
  }

  /** What `read` answers; begins anew with the present value. */
  reset(nowMs: number): SeatStatistics {
    const read = this.read(nowMs)
    this.#seconds = 0
    this.#sum = 0
    this.#squares = 0
    this.#min = this.#value
    this.#max = this.#value
    return read
  }
}
