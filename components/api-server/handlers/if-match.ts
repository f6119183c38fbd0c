/** if-match: the If-Match header of a patch or an apply. */
import type { Resource } from '../../machinery/objects/resource.ts'
import { conflict, objectModified } from '../../machinery/objects/status-error.ts'
import type { RequestContext } from '../request/request.ts'

/** The resourceVersion in the header, with or without an entity tag's quotes; undefined without the header or for `*`. */
function demandedVersion(context: RequestContext): string | undefined {
  const header = context.http.headers['if-match']
  if (typeof header !== 'string' || header.trim() === '*') return undefined
  return header.trim().replace(/^"(.*)"$/, '$1')
}

/** Throws 409 unless the stored object has the resourceVersion that the header demands. */
export function checkIfMatch(
  context: RequestContext,
  resource: Resource,
  stored: { readonly revision: number },
): void {
  const version = demandedVersion(context)
  if (version === undefined || version === String(stored.revision)) return
  throw conflict(resource, context.info.name, objectModified)
}
