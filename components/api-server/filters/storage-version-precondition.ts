/**
 * storage-version-precondition: rejects writes to a resource until the server has said in which version it stores it (upstream:
 * apiserver pkg/endpoints/filters/storageversion.go; KEP-2339). The server's own writes do not pass through here.
 */
import { StatusError } from '../../machinery/objects/status-error.ts'
import type { PendingStorageVersions } from '../request/pending-storage-versions.ts'
import type { Filter, RequestContext } from '../request/request.ts'

const readVerbs = new Set(['get', 'list', 'watch'])

/** Writes that registration itself, and the election of leaders, need. */
function isExempt({ info, dialect }: RequestContext): boolean {
  if (!info.isResourceRequest || readVerbs.has(info.verb)) return true
  if (info.group === `internal.apiserver.${dialect.apiDomain}`) return true
  return (
    info.group === `coordination.${dialect.apiDomain}` &&
    info.plural === 'leases' &&
    info.namespace === dialect.systemNamespace
  )
}

export function storageVersionPrecondition(pending: PendingStorageVersions): Filter {
  return async (context, next) => {
    const { group, plural } = context.info
    const why = isExempt(context) ? undefined : pending.whyPending(group, plural)
    if (why === undefined) return await next(context)
    const name = group === '' ? plural : `${plural}.${group}`
    throw new StatusError(
      'ServiceUnavailable',
      `wait for storage version registration to complete for resource: ${name}, last seen error: ${why}`,
    )
  }
}
