/** epoch: sets the progress meter back before it grows so large that sums are no longer exact (upstream: queueset.go advanceEpoch). */
import type { RequestQueue } from './request-queue.ts'

const epoch = 2 ** 51
/** From here on the meter is set back. Whole numbers are exact up to twice that. */
export const highestR = 2 ** 52

/** How far to set the meter back; sets all its readings back as far. */
export function epochOf(r: number, queues: readonly RequestQueue[]): number {
  const by = Math.floor(r / epoch) * epoch
  for (const queue of queues) {
    // The reading of an idle queue is replaced before it is used.
    queue.nextDispatchR = queue.isIdle ? 0 : queue.nextDispatchR - by
    for (const request of queue.waiting) request.arrivalR -= by
  }
  return by
}
