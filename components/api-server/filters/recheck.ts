/**
 * recheck: ends a watch, and a request that follows the request journal, when its credential, its right to impersonate or its
 * right to watch is gone. The client sees the reason when it connects again.
 */
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { untilSharedMoment } from '../../component-base/shared-moment.ts'
import type { AuthenticateRequest } from '../authn/union.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type {
  Answer,
  AuthorizationAttributes,
  Filter,
  Next,
  RequestContext,
  UserInfo,
} from '../request/request.ts'
import { attributesOf } from '../request/attributes.ts'
import { isFollowing } from '../request/long-running.ts'
import { impersonationChecks } from './impersonate.ts'

/** The most time between two checks. */
const everyMs = 30_000

/** What a client needs the right to. The same while its user is the same value, as users are kept for each credential. */
interface Needed {
  readonly caller: UserInfo
  readonly rights: readonly AuthorizationAttributes[]
}

function neededOf(context: RequestContext, caller: UserInfo): Needed {
  const impersonation = impersonationChecks(context, caller)
  // Without impersonation, the groups may have changed.
  const user = impersonation.length === 0 ? caller : context.user
  return { caller, rights: [...impersonation, { ...attributesOf(context), user }] }
}

/** Pass an authenticator and an authorizer without metrics: these checks are no requests of a client. */
export function recheck(
  authenticateRequest: AuthenticateRequest,
  authorizer: Authorizer,
  clock: Clock,
): Filter {
  const checkOf = (context: RequestContext): (() => Promise<boolean>) => {
    let needed: Needed | undefined
    return async () => {
      const outcome = await authenticateRequest(context.http)
      if (outcome.kind !== 'user') return true
      if (needed?.caller !== outcome.user) needed = neededOf(context, outcome.user)
      for (const attributes of needed.rights) {
        const { decision } = await authorizer.authorize(attributes)
        if (decision !== 'allow') return true
      }
      return false
    }
  }
  const watched = async (context: RequestContext, next: Next): Promise<Answer> => {
    const lost = new AbortController()
    context.lost = lost.signal
    const answer = await next(context)
    const { body } = answer
    if (typeof body !== 'function') return answer
    const isLost = checkOf(context)
    return {
      ...answer,
      body: async (sink) => {
        let cancel = (): void => {}
        let hasEnded = false
        const plan = (): void => {
          // The watch may end during the check.
          if (hasEnded) return
          cancel = upkeepOf(clock).after(untilSharedMoment(clock, everyMs), () => {
            isLost().then(
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
