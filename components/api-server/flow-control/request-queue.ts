/** RequestQueue: the waiting and executing requests of one queue (upstream: fairqueuing/queueset/types.go). */
import type { FairRequest } from './fair-request.ts'
import { RequestList } from './request-list.ts'

export class RequestQueue {
  readonly waiting = new RequestList()
  readonly executing = new RequestList()
  /** Where the progress meter is when the next request is dispatched in virtual time. */
  nextDispatchR = 0
  seatsInUse = 0
  /** Sums over the waiting requests. */
  waitingSeats = 0
  waitingWork = 0
  /** Its place in its queue set. */
  index: number

  constructor(index: number) {
    this.index = index
  }

  /** Nothing waits or executes. Seats may still be in use by requests that were answered. */
  get isIdle(): boolean {
    return this.waiting.length === 0 && this.executing.length === 0
  }

  enqueue(request: FairRequest): void {
    this.waiting.append(request)
    this.waitingSeats += request.width
    this.waitingWork += request.totalWork
  }

  /** The request must be waiting here. */
  dequeue(request: FairRequest): void {
    this.waiting.remove(request)
    this.waitingSeats -= request.width
    this.waitingWork -= request.totalWork
  }

  /** A queue that could not use its seats for a while gets no advantage: no dispatch comes before the arrival. */
  bound(): void {
    const oldest = this.waiting.first
    if (oldest !== undefined && this.nextDispatchR < oldest.arrivalR) {
      this.nextDispatchR = oldest.arrivalR
    }
  }
}
