/** Local authorization modes as one authorizer, for tests without a server. */
import {
  createLocalModules,
  type LocalMode,
} from '../../components/api-server/authz/authorization-modes.ts'
import type { Authorizer } from '../../components/api-server/authz/authorizer.ts'
import { authorizeInOrder } from '../../components/api-server/authz/union.ts'

/** In this order; `stop` ends following the reader. */
export function authorizationOf(
  modes: readonly LocalMode[],
  options: Parameters<typeof createLocalModules>[0],
): { readonly authorizer: Authorizer; stop(): void } {
  const local = createLocalModules(options)
  return {
    authorizer: authorizeInOrder(modes.map((mode) => local.of(mode))),
    stop: () => local.stop(),
  }
}
