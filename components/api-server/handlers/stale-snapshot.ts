/** stale-snapshot: the state of some time ago, for reads that a fault of the lab makes stale. */
import type { Resource } from '../../machinery/objects/resource.ts'
import { expired } from '../../machinery/objects/status-error.ts'
import type { RequestContext } from '../request/request.ts'
import type { Snapshot } from '../watch-cache/collection.ts'
import { tooLargeVersion } from './too-large-version.ts'
import type { Parts } from './parts.ts'

/**
 * Undefined when no fault fires: the newest state is shown. Throws 410 for a time before the history, and 504 for a resourceVersion
 * after that time, as a server that has not seen it yet.
 */
export function staleSnapshot(
  { faults, info }: RequestContext,
  resource: Resource,
  { cache: caches, clock }: Pick<Parts, 'cache' | 'clock'>,
): Snapshot | undefined {
  const staleMs = faults?.staleMs()
  if (staleMs === undefined) return undefined
  const cache = caches.of(resource)
  const nowMs = clock.now()
  const revision = cache.history.revisionAt(nowMs - staleMs, { nowMs, newest: cache.revision })
  const wanted = Number(info.query.get('resourceVersion') ?? '')
  if (revision !== undefined && wanted > revision) throw tooLargeVersion(wanted, revision)
  const snapshot =
    revision === undefined ? undefined : cache.collection(resource).snapshotAt(revision)
  if (snapshot === undefined) throw expired('The resourceVersion for the provided list is too old.')
  return snapshot
}
