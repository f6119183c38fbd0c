/** Anonymous access: the user a request without credentials acts as. */
import type { UserInfo } from '../request/request.ts'

export const unauthenticatedGroup = 'system:unauthenticated'

export const anonymousUser: UserInfo = {
  name: 'system:anonymous',
  groups: [unauthenticatedGroup],
}

export interface AnonymousAccess {
  readonly isEnabled: boolean
  /** Only these paths, when given. */
  readonly paths?: readonly string[]
}

/** Whether a request for this target (path and query) may go on without credentials. */
export function mayBeAnonymous(access: AnonymousAccess, url: string): boolean {
  if (!access.isEnabled) return false
  if (access.paths === undefined) return true
  const query = url.indexOf('?')
  return access.paths.includes(query < 0 ? url : url.slice(0, query))
}
