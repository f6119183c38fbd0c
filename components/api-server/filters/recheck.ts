/**
 * recheck: ends a watch, and a request that follows the request journal, when its credential, its right to impersonate or its
 * right to watch is gone. The client sees the reason when it connects again.
 */
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { untilSharedMoment } from '../../component-base/shared-moment.ts'
import type { AuthenticateRequest } from '../authn/union.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { Answer, Filter, Next, RequestContext } from '../request/request.ts'
import { attributesOf } from '../request/attributes.ts'
import { isFollowing } from '../request/long-running.ts'
import { impersonationChecks } from './impersonate.ts'

const everyMs = 30_000

/** Pass an authenticator and an authorizer without metrics: these checks are no requests of a client. */
export function recheck(
  authenticateRequest: AuthenticateRequest,
  authorizer: Authorizer,
  clock: Clock,
): Filter {
  const isLost = async (context: RequestContext): Promise<boolean> => {
    const outcome = await authenticateRequest(context.http)
    if (outcome.kind !== 'user') return true
    const impersonation = impersonationChecks(context, outcome.user)
    // Without impersonation, the groups may have changed.
    const user = impersonation.length === 0 ? outcome.user : context.user
    for (const attributes of [...impersonation, { ...attributesOf(context), user }]) {
      const { decision } = await authorizer.authorize(attributes)
      if (decision !== 'allow') return true
    }
    return false
  }
  const watched = async (context: RequestContext, next: Next): Promise<Answer> => {
    const lost = new AbortController()
    context.lost = lost.signal
    const answer = await next(context)
    const { body } = answer
    if (typeof body !== 'function') return answer
    return {
      ...answer,
      body: async (sink) => {
        let cancel = (): void => {}
        let hasEnded = false
        const plan = (): void => {
          // The watch may end during the check.
          if (hasEnded) return
          cancel = backgroundOf(clock).after(untilSharedMoment(clock.now(), everyMs), () => {
            isLost(context).then(
              (isOver) => {
                if (isOver) lost.abort()
                else plan()
              },
              // An authenticator or authorizer that fails is asked again.
              plan,
            )
          })
        }
        plan()
        try {
          await body(sink)
        } finally {
          hasEnded = true
          cancel()
        }
      },
    }
  }
  return (context, next) => (isFollowing(context.info) ? watched(context, next) : next(context))
}
