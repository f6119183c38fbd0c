/** work-estimator: the work of a request, by its verb (upstream: flowcontrol/request/width.go). */
import type { RequestInfo } from '../request/request.ts'
import { estimateList } from './list-work.ts'
import { estimateMutation } from './mutating-work.ts'
import { mostSeats, oneSeat, type WorkEstimate, type WorkEstimatorParts } from './work-estimate.ts'

/** `maxSeats` is the limit of the request's priority level; 0 means that the level sets no limit. */
export function estimateWork(
  info: RequestInfo,
  maxSeats: number,
  parts: WorkEstimatorParts,
): WorkEstimate {
  const most = maxSeats === 0 || maxSeats > mostSeats ? mostSeats : maxSeats
  switch (info.verb) {
    case 'list':
      return estimateList(info, most, parts)
    case 'watch':
      return parts.withWatchList ? estimateList(info, most, parts) : oneSeat
    case 'create':
    case 'update':
    case 'patch':
    case 'delete':
      return estimateMutation(info, most, parts)
    default:
      return oneSeat
  }
}
