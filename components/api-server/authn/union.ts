/** All authenticators as one: the first that succeeds wins; an invalid credential never falls back to anonymous. */
import type { Trial } from '../../api/explanations.ts'
import type { HttpRequest, UserInfo } from '../request/request.ts'
import type { AnonymousAccess } from './anonymous.ts'
import { anonymousUser, mayBeAnonymous, unauthenticatedGroup } from './anonymous.ts'
import { trialsOf } from './authenticator.ts'
import type { AuthenticationResult, Authenticator } from './authenticator.ts'

export const authenticatedGroup = 'system:authenticated'

export type AuthenticationOutcome =
  /** `by` names the authenticator; undefined for an anonymous user. */
  | { readonly kind: 'user'; readonly user: UserInfo; readonly by?: string }
  /** Answer 401. `why` goes to the log only. */
  | { readonly kind: 'unauthorized'; readonly why: string; readonly tried: readonly Trial[] }

/** Authenticates a request. Synchronous unless an authenticator is not. */
export type AuthenticateRequest = (
  request: HttpRequest,
) => AuthenticationOutcome | Promise<AuthenticationOutcome>

/** `anonymous` is a function where it can change while the server runs. */
export function authenticateBy(
  authenticators: readonly Authenticator[],
  anonymous: AnonymousAccess | (() => AnonymousAccess),
): AuthenticateRequest {
  // Users are kept per connection or token, so the group is added once for each.
  const outcomes = new WeakMap<UserInfo, AuthenticationOutcome>()

  function accepted(user: UserInfo, by: string): AuthenticationOutcome {
    let outcome = outcomes.get(user)
    if (outcome === undefined) {
      const isGrouped =
        user.groups.includes(authenticatedGroup) || user.groups.includes(unauthenticatedGroup)
      outcome = {
        kind: 'user',
        by,
        user: isGrouped ? user : { ...user, groups: [...user.groups, authenticatedGroup] },
      }
      outcomes.set(user, outcome)
    }
    return outcome
  }

  function withoutUser(
    request: HttpRequest,
    passed: readonly AuthenticationResult[],
  ): AuthenticationOutcome {
    const failures = passed.flatMap((result, at) =>
      result.kind === 'failed' ? [`${authenticators[at]?.name ?? ''}: ${result.why}`] : [],
    )
    if (failures.length === 0) {
      const access = typeof anonymous === 'function' ? anonymous() : anonymous
      if (mayBeAnonymous(access, request.url)) return { kind: 'user', user: anonymousUser }
    }
    const why = failures.length === 0 ? 'no credentials' : failures.join('; ')
    return { kind: 'unauthorized', why, tried: trialsOf(authenticators, passed) }
  }

  function tryFrom(
    request: HttpRequest,
    passed: AuthenticationResult[],
  ): AuthenticationOutcome | Promise<AuthenticationOutcome> {
    for (let index = passed.length; index < authenticators.length; index++) {
      const authenticator = authenticators[index]
      if (authenticator === undefined) break
      const result = authenticator.authenticate(request)
      if (result instanceof Promise) {
        return result.then((settled) => {
          if (settled.kind === 'user')
            return accepted(settled.user, settled.by ?? authenticator.name)
          passed.push(settled)
          return tryFrom(request, passed)
        })
      }
      if (result.kind === 'user') return accepted(result.user, result.by ?? authenticator.name)
      passed.push(result)
    }
    return withoutUser(request, passed)
  }

  return (request) => tryFrom(request, [])
}
