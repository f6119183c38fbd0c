/** request-manager: the field manager of a request other than an apply. */
import { managerOf } from '../registry/field-tracking.ts'
import type { RequestContext } from '../request/request.ts'

/** `fieldManager` from the query, or else a name made from the User-Agent header. */
export function managerOfRequest(context: RequestContext, fieldManager: string): string {
  const agent = context.http.headers['user-agent']
  return managerOf(fieldManager, Array.isArray(agent) ? agent[0] : agent)
}
