/** Which requests come from node agents (upstream: pkg/auth/nodeidentifier). */
import type { UserInfo } from '../request/request.ts'

const userPrefix = 'system:node:'
const nodesGroup = 'system:nodes'

/** The node's name, '' for a node agent whose user name has none, undefined for other users. */
export function nodeNameOf(user: UserInfo): string | undefined {
  if (!user.name.startsWith(userPrefix) || !user.groups.includes(nodesGroup)) return undefined
  return user.name.slice(userPrefix.length)
}
