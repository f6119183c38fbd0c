/** authenticate: finds the user of a request, or answers 401. */
import type { Log } from '../../component-base/log.ts'
import { unauthorized } from '../../machinery/objects/status-error.ts'
import type { AuthenticateRequest, AuthenticationOutcome } from '../authn/union.ts'
import type { DeniedRequests } from './denied-requests.ts'
import type { Answer, Filter, RequestContext } from '../request/request.ts'

export function authenticate(
  authenticateRequest: AuthenticateRequest,
  log: Log,
  denied: DeniedRequests,
): Filter {
  const settle = (context: RequestContext, outcome: AuthenticationOutcome): void => {
    if (outcome.kind === 'unauthorized') {
      log.info('unauthenticated', { id: context.id, why: outcome.why })
      denied.unauthenticated(context, { reason: outcome.why, tried: outcome.tried })
      throw unauthorized()
    }
    context.user = outcome.user
    if (outcome.by !== undefined) context.authenticator = outcome.by
  }
  return (context, next) => {
    const result = authenticateRequest(context.http)
    const goOn = (outcome: AuthenticationOutcome): Promise<Answer> => {
      settle(context, outcome)
      return next(context)
    }
    return result instanceof Promise ? result.then(goOn) : goOn(result)
  }
}
