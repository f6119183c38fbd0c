/**
 * QueueSet: the seats of one priority level and the queues in front of them. Queues get seat-seconds in equal parts, whatever
 * waits in them, by a progress meter in virtual time (upstream: fairqueuing/queueset/queueset.go, KEP-1040).
 */
import type { Clock } from '../../component-base/clock.ts'
import { epochOf, highestR } from './epoch.ts'
import {
  estimatedServiceMs,
  FairRequest,
  type ArrivingRequest,
  type Refusal,
} from './fair-request.ts'
import { emptyDispatch, nextDispatch, type Dispatch } from './next-dispatch.ts'
import type { QueueSetGauges } from './queue-set-gauges.ts'
import { RequestList } from './request-list.ts'
import { RequestQueue } from './request-queue.ts'
import { msPerSeat, seatSeconds } from './seat-seconds.ts'

export interface Queuing {
  /** 0: no request waits. Undefined: no limit applies, either. */
  readonly queues: number | undefined
  readonly queueLengthLimit: number
}

export class QueueSet {
  readonly #clock: Pick<Clock, 'elapsed' | 'after'>
  readonly #gauges: QueueSetGauges
  #queuing: Queuing = { queues: 0, queueLengthLimit: 0 }
  #limit = 0
  /** Maybe more than configured, until the surplus ones are idle. */
  readonly #queues: RequestQueue[] = []
  /** Executing requests that came through no queue. */
  readonly #queueless = new RequestList()
  #r = 0
  #syncedMs: number
  /** The queue of the last dispatch. */
  #turn = -1
  #arrivals = 0
  /** Queues with waiting or executing requests, and the seats in use by requests that came through one. */
  #active = 0
  #queuedSeats = 0
  waiting = 0
  waitingSeats = 0
  executing = 0
  seatsInUse = 0
  dispatched = 0
  rejected = 0
  timedOut = 0
  cancelled = 0
  epochAdvances = 0
  /** Readings of the last dispatch from a queue. */
  readonly lastDispatch: Dispatch = emptyDispatch()

  constructor(options: { clock: Pick<Clock, 'elapsed' | 'after'>; gauges: QueueSetGauges }) {
    this.#clock = options.clock
    this.#gauges = options.gauges
    this.#syncedMs = options.clock.elapsed()
  }

  get queues(): readonly RequestQueue[] {
    return this.#queues
  }

  get queueless(): RequestList {
    return this.#queueless
  }

  /** Seats that may be in use. */
  get limit(): number {
    return this.#limit
  }

  /** The progress meter: seat-seconds that each active queue got. */
  get r(): number {
    return this.#r
  }

  get isIdle(): boolean {
    return this.waiting === 0 && this.executing === 0
  }

  /** Waiting requests stay in their queues. Surplus queues take no more requests and go once they are idle. */
  configure(queuing: Queuing, limits: { limit: number; denominator: number }): void {
    const nowMs = this.#sync()
    const { queues = 0, queueLengthLimit } = queuing
    // Without queues, those that wait keep the former limit of their length.
    this.#queuing = queues > 0 ? queuing : { ...this.#queuing, queues: queuing.queues }
    this.#limit = limits.limit
    while (this.#queues.length < queues) {
      this.#queues.push(new RequestQueue(this.#queues.length))
    }
    for (let at = this.#queues.length - 1; at >= queues; at -= 1) {
      this.#removeSurplus(this.#queues[at] as RequestQueue)
    }
    const { waiting, executing, seats } = this.#gauges
    waiting.setLimit(Math.max(queueLengthLimit, 1) * Math.max(queues, 1), nowMs)
    executing.setLimit(limits.denominator, nowMs)
    seats.setLimit(limits.denominator, nowMs)
    this.#gauges.demandRatio.setLimit(limits.denominator, nowMs)
    this.#dispatchAll(nowMs)
  }

  /**
   * Starts a request, or queues it, or rejects it. The caller calls `finish` for one that executes, and sets `onDecided` of one
   * that waits.
   */
  start(arriving: ArrivingRequest): FairRequest | Refusal {
    const nowMs = this.#sync()
    const { queues } = this.#queuing
    if (queues === undefined || queues < 1) return this.#startWithoutQueue(arriving, nowMs)
    const queue = this.#pick(arriving.hand)
    const request = new FairRequest(arriving, { nowMs, r: this.#r, queue })
    // The common case: it is dispatched at once, without a look at the other queues.
    if (this.waiting === 0 && this.seatsInUse < this.#limit && this.#fits(request.width)) {
      if (queue.isIdle || queue.nextDispatchR < this.#r) queue.nextDispatchR = this.#r
      request.queueLength = 1
      this.#noteDispatch(queue)
      this.#execute(request, nowMs)
      return request
    }
    const isFull = queue.waiting.length >= this.#queuing.queueLengthLimit
    if (isFull && this.seatsInUse >= this.#limit) {
      queue.bound()
      return this.#reject(arriving, 'queue-full')
    }
    this.#enqueue(queue, request, nowMs)
    this.#dispatchAll(nowMs)
    return request
  }

  #startWithoutQueue(arriving: ArrivingRequest, nowMs: number): FairRequest | Refusal {
    const request = new FairRequest(arriving, { nowMs, r: this.#r, queue: undefined })
    if (!this.#fits(request.width)) return this.#reject(arriving, 'concurrency-limit')
    this.#execute(request, nowMs)
    return request
  }

  #reject({ counts }: ArrivingRequest, why: Refusal): Refusal {
    counts.refused[why] += 1
    this.rejected += 1
    if (why === 'time-out') this.timedOut += 1
    if (why === 'cancelled') this.cancelled += 1
    return why
  }

  /** The queue of the hand with the least waiting work. Hands overlap, so each request begins its look at another card. */
  #pick(hand: readonly number[]): RequestQueue {
    const offset = this.#arrivals % hand.length
    this.#arrivals += 1
    let best: RequestQueue | undefined
    for (let at = 0; at < hand.length; at += 1) {
      const queue = this.#queues[hand[(offset + at) % hand.length] as number]
      if (queue === undefined) continue
      if (best === undefined || queue.waitingWork < best.waitingWork) best = queue
      if (best.waitingWork === 0) break
    }
    return best as RequestQueue
  }

  #enqueue(queue: RequestQueue, request: FairRequest, nowMs: number): void {
    const { counts } = request.arriving
    if (queue.isIdle) {
      queue.nextDispatchR = this.#r
      this.#active += 1
    }
    queue.enqueue(request)
    queue.bound()
    request.queueLength = queue.waiting.length
    this.waiting += 1
    this.waitingSeats += request.width
    counts.waiting += 1
    counts.waitingSeats += request.width
    this.#gauges.waiting.add(1, nowMs)
    this.#noteDemand(nowMs)
  }

  #dequeue(queue: RequestQueue, request: FairRequest, nowMs: number): void {
    const { counts } = request.arriving
    queue.dequeue(request)
    if (queue.isIdle) this.#active -= 1
    this.waiting -= 1
    this.waitingSeats -= request.width
    counts.waiting -= 1
    counts.waitingSeats -= request.width
    this.#gauges.waiting.add(-1, nowMs)
  }

  /** Rejects a request that still waits; does nothing to others. */
  cancel(request: FairRequest, why: 'time-out' | 'cancelled'): void {
    const { queue, onDecided } = request
    if (queue === undefined || onDecided === undefined) return
    const nowMs = this.#sync()
    this.#dequeue(queue, request, nowMs)
    queue.bound()
    this.#noteDemand(nowMs)
    request.onDecided = undefined
    onDecided(this.#reject(request.arriving, why))
    // It may have been a wide one that others waited behind.
    this.#dispatchAll(nowMs)
  }

  /** Whether so many seats are free. A request that is wider than the limit executes alone. */
  #fits(width: number): boolean {
    if (this.#queuing.queues === undefined) return true
    if (width > this.#limit) return this.executing === 0
    return this.seatsInUse + width <= this.#limit
  }

  #dispatchAll(nowMs: number): void {
    while (this.waiting > 0 && this.seatsInUse < this.#limit && this.#dispatch(nowMs));
  }

  /** Dispatches the request that finishes first in virtual time. False if there are too few seats for it: others wait, too. */
  #dispatch(nowMs: number): boolean {
    const queue = nextDispatch(this.#queues, this.#turn, this.lastDispatch)
    const request = queue?.waiting.first
    if (queue === undefined || request === undefined) return false
    if (!this.#fits(request.width)) {
      request.arriving.counts.unaccommodated += 1
      return false
    }
    // Of equal queues, the others come first next time.
    this.#turn = queue.index
    this.lastDispatch.r = this.#r
    this.lastDispatch.s = queue.nextDispatchR
    this.#dequeue(queue, request, nowMs)
    const { onDecided } = request
    request.onDecided = undefined
    this.#execute(request, nowMs)
    queue.bound()
    onDecided?.(undefined)
    return true
  }

  /** Readings of a dispatch that has no rivals. */
  #noteDispatch(queue: RequestQueue): void {
    this.#turn = queue.index
    const s = queue.nextDispatchR
    const discounted = s - seatSeconds(queue.seatsInUse, estimatedServiceMs)
    const { lastDispatch } = this
    lastDispatch.r = this.#r
    lastDispatch.s = s
    lastDispatch.lowest = s
    lastDispatch.highest = s
    lastDispatch.lowestDiscounted = discounted
    lastDispatch.highestDiscounted = discounted
  }

  #execute(request: FairRequest, nowMs: number): void {
    const { queue, arriving } = request
    const { counts, work } = arriving
    if (queue === undefined) this.#queueless.append(request)
    else {
      if (work.finalSeats > this.#limit) this.#narrow(request)
      if (queue.isIdle) this.#active += 1
      queue.executing.append(request)
      queue.seatsInUse += request.width
      this.#queuedSeats += request.width
      queue.nextDispatchR += request.totalWork
    }
    request.startedMs = nowMs
    this.executing += 1
    this.seatsInUse += request.width
    this.dispatched += 1
    counts.dispatched += 1
    counts.executing += 1
    counts.executingSeats += request.width
    this.#gauges.executing.add(1, nowMs)
    this.#gauges.seats.add(request.width, nowMs)
    this.#noteDemand(nowMs)
  }

  /** Takes no more seats after the answer than there are, for as much longer. */
  #narrow(request: FairRequest): void {
    const { initialSeats } = request.arriving.work
    request.width = Math.max(initialSeats, this.#limit)
    request.additionalLatencyMs = msPerSeat(request.finalWork, this.#limit)
  }

  /** The request was answered. Its seats stay in use for its additional latency. Returns the time. */
  finish(request: FairRequest): number {
    const nowMs = this.#sync()
    const { queue, arriving, additionalLatencyMs } = request
    this.executing -= 1
    arriving.counts.executing -= 1
    this.#gauges.executing.add(-1, nowMs)
    if (queue === undefined) this.#queueless.remove(request)
    else {
      queue.executing.remove(request)
      if (queue.isIdle) this.#active -= 1
      // The estimate is replaced by how long it took.
      const excessMs = estimatedServiceMs - (nowMs - request.startedMs)
      queue.nextDispatchR -= seatSeconds(arriving.work.initialSeats, excessMs)
      queue.bound()
    }
    if (additionalLatencyMs <= 0) this.#release(request, nowMs)
    else {
      this.#clock.after(additionalLatencyMs, () => {
        const laterMs = this.#sync()
        this.#release(request, laterMs)
        this.#dispatchAll(laterMs)
      })
    }
    this.#dispatchAll(nowMs)
    return nowMs
  }

  #release({ queue, width, arriving }: FairRequest, nowMs: number): void {
    this.seatsInUse -= width
    arriving.counts.executingSeats -= width
    this.#gauges.seats.add(-width, nowMs)
    this.#noteDemand(nowMs)
    if (queue === undefined) return
    queue.seatsInUse -= width
    this.#queuedSeats -= width
    if (this.#queues.length > (this.#queuing.queues ?? 0)) this.#removeSurplus(queue)
  }

  #removeSurplus(queue: RequestQueue): void {
    const { index } = queue
    // Seats may be released after their queue was removed.
    if (!queue.isIdle || this.#queues[index] !== queue) return
    this.#queues.splice(index, 1)
    for (let at = index; at < this.#queues.length; at += 1) {
      ;(this.#queues[at] as RequestQueue).index = at
    }
    if (this.#turn >= index) this.#turn -= 1
  }

  #noteDemand(nowMs: number): void {
    const seats = this.seatsInUse + this.waitingSeats
    this.#gauges.demand.set(seats, nowMs)
    this.#gauges.demandRatio.set(seats, nowMs)
  }

  /** Moves the progress meter to now. Comes before every change. Returns the time. */
  #sync(): number {
    const nowMs = this.#clock.elapsed()
    const ms = nowMs - this.#syncedMs
    this.#syncedMs = nowMs
    if (ms <= 0 || this.#active === 0) return nowMs
    const seats = Math.min(this.#queuedSeats + this.waitingSeats, this.#limit)
    this.#r += seatSeconds(seats / this.#active, ms)
    if (this.#r >= highestR) {
      this.#r -= epochOf(this.#r, this.#queues)
      this.epochAdvances += 1
    }
    return nowMs
  }
}
