/** QueueSetGauges: what is observed of a queue set over time. */
import type { SeatIntegrator } from './seat-integrator.ts'
import type { TimingRatio } from './timing-ratio.ts'

export interface QueueSetGauges {
  /** Requests by what the queues hold. */
  readonly waiting: TimingRatio
  /** Requests by the limit of seats. */
  readonly executing: TimingRatio
  /** Seats in use by the limit. */
  readonly seats: TimingRatio
  /** Seats in use and waited for: for the borrowing, and by the limit. */
  readonly demand: SeatIntegrator
  readonly demandRatio: TimingRatio
}
