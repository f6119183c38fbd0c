/** next-dispatch: which queue is served next (upstream: queueset.go findDispatchQueueToBoundLocked). */
import { estimatedServiceMs } from './fair-request.ts'
import type { RequestQueue } from './request-queue.ts'
import { seatSeconds } from './seat-seconds.ts'

/** Readings of the progress meter at a dispatch, for metrics. */
export interface Dispatch {
  r: number
  /** Where the queue was that was served. */
  s: number
  /** Over the queues with waiting requests. */
  lowest: number
  highest: number
  /** Less the work that is in progress. */
  lowestDiscounted: number
  highestDiscounted: number
}

export function emptyDispatch(): Dispatch {
  return { r: 0, s: 0, lowest: 0, highest: 0, lowestDiscounted: 0, highestDiscounted: 0 }
}

/**
 * The queue whose oldest request finishes first in virtual time; of several the first after `turn`. Undefined without waiting
 * requests. Notes the readings of all queues.
 */
export function nextDispatch(
  queues: readonly RequestQueue[],
  turn: number,
  noted: Dispatch,
): RequestQueue | undefined {
  let next: RequestQueue | undefined
  let earliest = Infinity
  noted.lowest = Infinity
  noted.highest = -Infinity
  noted.lowestDiscounted = Infinity
  noted.highestDiscounted = -Infinity
  for (let step = 1; step <= queues.length; step += 1) {
    const queue = queues[(turn + step) % queues.length] as RequestQueue
    const oldest = queue.waiting.first
    if (oldest === undefined) continue
    const start = queue.nextDispatchR
    const discounted = start - seatSeconds(queue.seatsInUse, estimatedServiceMs)
    noted.lowest = Math.min(noted.lowest, start)
    noted.highest = Math.max(noted.highest, start)
    noted.lowestDiscounted = Math.min(noted.lowestDiscounted, discounted)
    noted.highestDiscounted = Math.max(noted.highestDiscounted, discounted)
    if (start + oldest.totalWork < earliest) {
      earliest = start + oldest.totalWork
      next = queue
    }
  }
  return next
}
