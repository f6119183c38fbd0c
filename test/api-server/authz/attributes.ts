/** Authorization attributes for tests: what is not given is empty. */
import type {
  AuthorizationAttributes,
  UserInfo,
} from '../../../components/api-server/request/request.ts'

export function user(name: string, ...groups: string[]): UserInfo {
  return { name, groups }
}

export function nodeUser(nodeName: string): UserInfo {
  return user(`system:node:${nodeName}`, 'system:nodes', 'system:authenticated')
}

/** A resource request, unless it has a path. */
export function attributes(
  given: Partial<AuthorizationAttributes> & { user: UserInfo },
): AuthorizationAttributes {
  return {
    verb: 'get',
    isResourceRequest: given.path === undefined,
    group: '',
    version: 'v1',
    resource: '',
    subresource: '',
    namespace: '',
    name: '',
    path: '',
    ...given,
  }
}
