/** list-work: a list takes a seat for each hundred objects that it processes (upstream: list_work_estimator.go). */
import { queryFlag } from '../request/request-info.ts'
import type { RequestInfo } from '../request/request.ts'
import { namedBy } from './watch-tracker.ts'
import { oneSeat, seatsOf, type WorkEstimate, type WorkEstimatorParts } from './work-estimate.ts'

const objectsPerSeat = 100

/** Undefined for a text that is no number: the request is rejected later. */
function integerOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return 0
  return /^[+-]?\d+$/.test(text) ? Number(text) : undefined
}

/** Whether upstream reads the list from etcd: each part of it is read, and then decoded. */
function isFromStorage(query: URLSearchParams, limit: number, isConsistentFromCache: boolean) {
  const version = query.get('resourceVersion') ?? ''
  const match = query.get('resourceVersionMatch') ?? ''
  const isConsistent = version === '' && !isConsistentFromCache
  const continues = (query.get('continue') ?? '') !== ''
  const isOldExact = limit > 0 && match === '' && version !== '' && version !== '0'
  const isUnsupported = (match !== '' && match !== 'NotOlderThan') || isOldExact
  return isConsistent || continues || isUnsupported
}

/** Objects that the server looks at. */
function objectsOf(info: RequestInfo, limit: number, of: { stored: number; fromCache: boolean }) {
  if (info.verb === 'watch' || of.fromCache) return of.stored
  const returned = limit > 0 && limit < of.stored ? limit : of.stored
  const { query } = info
  const selects =
    (query.get('fieldSelector') ?? '') !== '' || (query.get('labelSelector') ?? '') !== ''
  return selects ? of.stored + returned : 2 * returned
}

/** For lists, and for watches that begin like one. Invalid requests take all seats that one may. */
export function estimateList(
  info: RequestInfo,
  maxSeats: number,
  parts: WorkEstimatorParts,
): WorkEstimate {
  const { query } = info
  if (namedBy(info) !== '') return oneSeat
  const limit = integerOf(query, 'limit')
  if (limit === undefined || integerOf(query, 'timeoutSeconds') === undefined) {
    return seatsOf(maxSeats)
  }
  if (info.verb === 'watch' && !queryFlag(query, 'sendInitialEvents')) return oneSeat
  const stored = parts.countOf(info)
  // Another server's list costs this one little.
  if (stored === undefined) return oneSeat
  const fromCache = !isFromStorage(query, limit, parts.isConsistentFromCache)
  const seats = Math.ceil(objectsOf(info, limit, { stored, fromCache }) / objectsPerSeat)
  return seatsOf(Math.min(Math.max(seats, 1), maxSeats))
}
