/** priority-level: one priority level: its share of the seats, its demand for them, and its queues. */
import type { PriorityLevelConfiguration } from '../../api/generated/types.ts'
import type { QueueSet, Queuing } from './queue-set.ts'
import type { SeatIntegrator } from './seat-integrator.ts'
import { SeatDemand } from './seat-demand.ts'

/** Of the nominal seats, the most that one request takes. */
const widestPart = 0.15

export interface PriorityLevelOptions {
  readonly name: string
  readonly queueSet: QueueSet
  readonly integrator: SeatIntegrator
}

export class PriorityLevel {
  readonly name: string
  readonly queueSet: QueueSet
  readonly demand: SeatDemand
  uid = ''
  isExempt = false
  /** Its configuration is gone. It serves the requests that it has, and gets no others. */
  isQuiescing = false
  shares = 0
  /** Seats by its share, and the bounds that lending and borrowing may move its limit to. */
  nominal = 0
  lowest = 0
  highest = 0
  /** What the limit was moved to. */
  current = 0
  /** What the borrowing wanted to give it. */
  target = 0
  /** The most seats of one request; 0 without a limit of its own. */
  maxSeats = 0
  handSize = 0
  #queuing: Queuing = { queues: 0, queueLengthLimit: 0 }
  #lendablePercent = 0
  #borrowingPercent: number | undefined
  #isNew = true

  constructor({ name, queueSet, integrator }: PriorityLevelOptions) {
    this.name = name
    this.queueSet = queueSet
    this.demand = new SeatDemand(integrator)
  }

  /** The queues of the configuration, in which new requests wait. */
  get queues(): number {
    return this.#queuing.queues ?? 0
  }

  /** The most requests that wait. */
  get mostWaiting(): number {
    return this.queues * this.#queuing.queueLengthLimit
  }

  configure({ metadata, spec }: PriorityLevelConfiguration): void {
    const { type, limited, exempt } = spec ?? {}
    const queuing = limited?.limitResponse?.queuing
    this.uid = metadata.uid ?? ''
    this.isExempt = type === 'Exempt'
    this.isQuiescing = false
    this.shares = limited?.nominalConcurrencyShares ?? exempt?.nominalConcurrencyShares ?? 0
    this.#lendablePercent = limited?.lendablePercent ?? exempt?.lendablePercent ?? 0
    this.#borrowingPercent = limited?.borrowingLimitPercent
    this.handSize = queuing?.handSize ?? 0
    this.#queuing = {
      queues: this.isExempt ? undefined : (queuing?.queues ?? 0),
      queueLengthLimit: queuing?.queueLengthLimit ?? 0,
    }
  }

  /** Computes the seats of its share. A new level begins with half of what it may lend. */
  share(totalSeats: number, totalShares: number): void {
    const nominal = totalShares === 0 ? 0 : Math.ceil((totalSeats * this.shares) / totalShares)
    const lendable = Math.round((nominal * this.#lendablePercent) / 100)
    const percent = this.#borrowingPercent
    const borrowable = percent === undefined ? totalSeats : Math.round((nominal * percent) / 100)
    this.nominal = nominal
    this.lowest = nominal - lendable
    this.highest = nominal + borrowable
    const { handSize } = this
    this.maxSeats =
      handSize === 0
        ? 0
        : Math.max(1, Math.min(Math.ceil(nominal * widestPart), Math.floor(nominal / handSize)))
    if (this.#isNew) this.current = nominal - Math.floor(lendable / 2)
    this.#isNew = false
  }

  /** Makes `current` the limit. `denominator` stands for it in metrics of utilization if it is 0. */
  limitTo(current: number, denominator: number): void {
    this.current = current
    this.queueSet.configure(this.#queuing, {
      limit: current,
      denominator: current > 0 ? current : denominator,
    })
  }
}
