/** All ways to authenticate together: any that succeeds decides; a bad credential is never anonymous. */
import type { HttpRequest, UserInfo } from '../request.ts'
import type { AnonymousAccess } from './anonymous.ts'
import { anonymousUser, mayBeAnonymous } from './anonymous.ts'
import type { AuthenticationResult, Authenticator } from './authenticator.ts'

export const authenticatedGroup = 'system:authenticated'

export type AuthenticationOutcome =
  | { readonly kind: 'user'; readonly user: UserInfo }
  /** Answer 401. `why` goes to the log only. */
  | { readonly kind: 'unauthorized'; readonly why: string }

/** Finds out who sends a request. Synchronous unless an authenticator is not. */
export type AuthenticateRequest = (
  request: HttpRequest,
) => AuthenticationOutcome | Promise<AuthenticationOutcome>

export function authenticateBy(
  authenticators: readonly Authenticator[],
  anonymous: AnonymousAccess,
): AuthenticateRequest {
  // Users are kept per connection or token, so the group is added once for each.
  const outcomes = new WeakMap<UserInfo, AuthenticationOutcome>()

  function accepted(user: UserInfo): AuthenticationOutcome {
    let outcome = outcomes.get(user)
    if (outcome === undefined) {
      const isGrouped =
        user.groups.includes(authenticatedGroup) || user.groups.includes('system:unauthenticated')
      outcome = {
        kind: 'user',
        user: isGrouped ? user : { ...user, groups: [...user.groups, authenticatedGroup] },
      }
      outcomes.set(user, outcome)
    }
    return outcome
  }

  function withoutUser(request: HttpRequest, failures: readonly string[]): AuthenticationOutcome {
    if (failures.length > 0) return { kind: 'unauthorized', why: failures.join('; ') }
    if (mayBeAnonymous(anonymous, request.url)) return { kind: 'user', user: anonymousUser }
    return { kind: 'unauthorized', why: 'no credentials' }
  }

  function tryFrom(
    request: HttpRequest,
    start: number,
    failures: string[],
  ): AuthenticationOutcome | Promise<AuthenticationOutcome> {
    const noteFailure = (name: string, result: AuthenticationResult): void => {
      if (result.kind === 'failed') failures.push(`${name}: ${result.why}`)
    }
    for (let index = start; index < authenticators.length; index++) {
      const authenticator = authenticators[index]
      if (authenticator === undefined) break
      const result = authenticator.authenticate(request)
      if (result instanceof Promise) {
        return result.then((settled) => {
          if (settled.kind === 'user') return accepted(settled.user)
          noteFailure(authenticator.name, settled)
          return tryFrom(request, index + 1, failures)
        })
      }
      if (result.kind === 'user') return accepted(result.user)
      noteFailure(authenticator.name, result)
    }
    return withoutUser(request, failures)
  }

  return (request) => tryFrom(request, 0, [])
}
