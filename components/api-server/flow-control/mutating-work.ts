/** mutating-work: a write takes seats after its answer, while its watchers are notified (upstream: mutating_work_estimator.go). */
import type { RequestInfo } from '../request/request.ts'
import { msPerSeat, seatSeconds } from './seat-seconds.ts'
import { oneSeat, type WorkEstimate, type WorkEstimatorParts } from './work-estimate.ts'

const watchesPerSeat = 10
const notifyMs = 5

/** Fewer watches than fill a seat are free, so that most writes take one seat until their answer. */
export function estimateMutation(
  info: RequestInfo,
  maxSeats: number,
  { watches, onWatches }: WorkEstimatorParts,
): WorkEstimate {
  // A token is no object.
  if (info.plural === 'serviceaccounts' && info.subresource === 'token') return oneSeat
  const count = watches.interested(info)
  onWatches?.(count)
  if (count < watchesPerSeat) return oneSeat
  const wanted = Math.ceil(count / watchesPerSeat)
  const finalSeats = Math.min(wanted, maxSeats)
  // Fewer seats are taken for longer: the work stays the same.
  const additionalLatencyMs = msPerSeat(seatSeconds(wanted, notifyMs), finalSeats)
  return { initialSeats: 1, finalSeats, additionalLatencyMs }
}
