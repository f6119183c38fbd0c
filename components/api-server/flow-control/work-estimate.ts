/** work-estimate: how many seats a request takes, and for how long after its answer (upstream: flowcontrol/request/width.go). */
import type { RequestInfo } from '../request/request.ts'
import type { WatchTracker } from './watch-tracker.ts'

export interface WorkEstimate {
  /** Seats until the answer. */
  readonly initialSeats: number
  /** Seats for `additionalLatencyMs` after the answer, while watchers are notified. */
  readonly finalSeats: number
  readonly additionalLatencyMs: number
}

/** What most requests take. */
export const oneSeat: WorkEstimate = Object.freeze({
  initialSeats: 1,
  finalSeats: 0,
  additionalLatencyMs: 0,
})

/** No request takes more seats, whatever its level allows. */
export const mostSeats = 10

/** Seats before an answer, and none after it. */
export function seatsOf(initialSeats: number): WorkEstimate {
  return initialSeats === 1 ? oneSeat : { ...oneSeat, initialSeats }
}

/** The most seats of a request, over both phases. */
export function widthOf({ initialSeats, finalSeats }: WorkEstimate): number {
  return initialSeats >= finalSeats ? initialSeats : finalSeats
}

export interface WorkEstimatorParts {
  /** The stored objects of a resource; undefined for resources of other servers and unknown ones. */
  readonly countOf: (info: RequestInfo) => number | undefined
  readonly watches: Pick<WatchTracker, 'interested'>
  /** Watches with `sendInitialEvents` take as many seats as a list (feature gate WatchList). */
  readonly withWatchList: boolean
  /** Lists of the newest state are served from memory, as this server's all are. */
  readonly isConsistentFromCache: boolean
  /** Told how many watches a write notifies. */
  readonly onWatches?: (count: number) => void
}
