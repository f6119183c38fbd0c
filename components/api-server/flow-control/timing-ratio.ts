/**
 * TimingRatio: how long a number was at which fraction of its limit, as a histogram of nanoseconds (upstream:
 * flowcontrol/metrics/timing_ratio_histogram.go).
 */
import type { Histogram } from '../../component-base/metrics.ts'

const nanosPerMs = 1e6
/** Numbers below have a sum of their time, so that a change costs an addition. */
const summedNumbers = 256

export class TimingRatio {
  readonly #histogram: Histogram
  /** Milliseconds at each number that the histogram does not have yet. */
  readonly #msAt: number[] = []
  #number = 0
  #limit = 1
  #sinceMs: number

  /** Times are of `Clock.elapsed`. */
  constructor(histogram: Histogram, nowMs: number) {
    this.#histogram = histogram
    this.#sinceMs = nowMs
  }

  add(by: number, nowMs: number): void {
    this.set(this.#number + by, nowMs)
  }

  /** `number` is whole and not negative. */
  set(number: number, nowMs: number): void {
    this.#noteTime(nowMs)
    this.#number = number
  }

  /** `limit` is positive. */
  setLimit(limit: number, nowMs: number): void {
    this.observe(nowMs)
    this.#limit = limit
  }

  #noteTime(nowMs: number): void {
    const ms = nowMs - this.#sinceMs
    if (ms <= 0) return
    this.#sinceMs = nowMs
    const { length } = this.#msAt
    const at = this.#number
    if (at < length) this.#msAt[at] = (this.#msAt[at] as number) + ms
    else if (at < summedNumbers) {
      for (let next = length; next < at; next += 1) this.#msAt.push(0)
      this.#msAt.push(ms)
    } else this.#observe(at, ms)
  }

  #observe(number: number, ms: number): void {
    const nanos = Math.round(ms * nanosPerMs)
    if (nanos > 0) this.#histogram.observe(number / this.#limit, nanos)
  }

  /** Hands all time until now to the histogram. */
  observe(nowMs: number): void {
    this.#noteTime(nowMs)
    for (const [number, ms] of this.#msAt.entries()) this.#observe(number, ms)
    this.#msAt.length = 0
  }
}
