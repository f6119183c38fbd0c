/** SeatDemand: how many seats a level used and waited for, over the last periods (upstream: apf_controller.go seatDemandStats). */
import type { SeatIntegrator } from './seat-integrator.ts'

/** Of what it was, a period later; half is left after five minutes of periods of ten seconds. */
const smoothing = 0.977

export class SeatDemand {
  readonly #integrator: SeatIntegrator
  highWatermark = 0
  average = 0
  deviation = 0
  /** Follows a rise at once, and a fall slowly. */
  smoothed = 0

  constructor(integrator: SeatIntegrator) {
    this.#integrator = integrator
  }

  /** Ends a period. `nowMs` is a time of `Clock.elapsed`. */
  update(nowMs: number): void {
    const { seconds, average, deviation, max } = this.#integrator.reset(nowMs)
    this.highWatermark = Math.round(max)
    if (seconds <= 0) return
    this.average = average
    this.deviation = deviation
    const envelope = average + deviation
    const smoothed = smoothing * this.smoothed + (1 - smoothing) * envelope
    this.smoothed = Math.max(envelope, smoothed)
  }
}
