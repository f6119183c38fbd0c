/** FairRequest: a request in a queue set, from its arrival until its answer (upstream: fairqueuing/queueset/types.go). */
import type { UserInfo, RequestInfo } from '../request/request.ts'
import type { RequestQueue } from './request-queue.ts'
import { seatSeconds } from './seat-seconds.ts'
import { widthOf, type WorkEstimate } from './work-estimate.ts'

/** How long a request is assumed to take until its answer; corrected afterwards. */
export const estimatedServiceMs = 3

/** Why a request is rejected; a label of the metric of rejected requests. */
export type Refusal = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled'

/** The requests of one flow schema, by state. The queue set counts those that are waiting or executing. */
export interface FlowCounts {
  executing: number
  executingSeats: number
  waiting: number
  waitingSeats: number
  dispatched: number
  unaccommodated: number
  readonly refused: Record<Refusal, number>
}

export interface ArrivingRequest {
  readonly work: WorkEstimate
  /** The queues it may wait in. */
  readonly hand: readonly number[]
  readonly schema: string
  readonly distinguisher: string
  readonly counts: FlowCounts
  /** For the debug endpoints. */
  readonly from: { readonly user: UserInfo; readonly info: RequestInfo }
}

export class FairRequest {
  readonly arriving: ArrivingRequest
  /** Undefined in a set without queues. */
  readonly queue: RequestQueue | undefined
  /** Seats in use, from the dispatch until they are released. */
  width: number
  additionalLatencyMs: number
  /** For the whole request, and for the time after its answer. */
  readonly totalWork: number
  readonly finalWork: number
  /** The progress meter at its arrival. */
  arrivalR: number
  /** Times of `Clock.elapsed`. */
  readonly arrivedMs: number
  startedMs = NaN
  /** How long its queue was with it. */
  queueLength = 0
  /** Called once if the request had to wait: with the reason if it is rejected. */
  onDecided: ((refusal: Refusal | undefined) => void) | undefined
  /** Its neighbours in a `RequestList`. */
  next: FairRequest | undefined
  previous: FairRequest | undefined

  constructor(
    arriving: ArrivingRequest,
    at: { nowMs: number; r: number; queue: RequestQueue | undefined },
  ) {
    const { work } = arriving
    this.arriving = arriving
    this.queue = at.queue
    this.width = widthOf(work)
    this.additionalLatencyMs = work.additionalLatencyMs
    this.finalWork = seatSeconds(work.finalSeats, work.additionalLatencyMs)
    this.totalWork = seatSeconds(work.initialSeats, estimatedServiceMs) + this.finalWork
    this.arrivalR = at.r
    this.arrivedMs = at.nowMs
  }

  get isExecuting(): boolean {
    return !Number.isNaN(this.startedMs)
  }
}
