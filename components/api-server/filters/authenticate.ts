/** authenticate: finds out who asks, or answers 401. The credential goes no further than this. */
import type { Log } from '../../component-base/log.ts'
import { unauthorized } from '../../machinery/status-error.ts'
import type { AuthenticateRequest } from '../authn/union.ts'
import type { Filter } from '../request.ts'

export function authenticate(authenticateRequest: AuthenticateRequest, log: Log): Filter {
  return async (context, next) => {
    const result = authenticateRequest(context.http)
    const outcome = result instanceof Promise ? await result : result
    if (outcome.kind === 'unauthorized') {
      log.info('unauthenticated', { id: context.id, why: outcome.why })
      throw unauthorized()
    }
    context.user = outcome.user
    return await next(context)
  }
}
