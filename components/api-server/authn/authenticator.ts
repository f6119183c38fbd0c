/** Authenticator: one way to find out who asks. Any that succeeds decides (spec: "Authentication"). */
import type { Trial } from '../../api/explanations.ts'
import type { HttpRequest, UserInfo } from '../request/request.ts'

export type AuthenticationResult =
  | { readonly kind: 'user'; readonly user: UserInfo; readonly audiences?: readonly string[] }
  /** The request carries no credential of this authenticator's kind; `why` is for explanations. */
  | { readonly kind: 'none'; readonly why?: string }
  /** It carries one and it is bad: 401 unless another authenticator accepts. `why` goes to the log only, never a secret. */
  | { readonly kind: 'failed'; readonly why: string; readonly tried?: readonly Trial[] }

/** Results of the authenticators in their order, as far as they were asked. */
export function trialsOf(
  authenticators: readonly { readonly name: string }[],
  results: readonly AuthenticationResult[],
): Trial[] {
  return results.flatMap((result, at): Trial[] => {
    const name = authenticators[at]?.name ?? ''
    if (result.kind === 'failed' && result.tried !== undefined) return [...result.tried]
    const why = result.kind === 'user' ? undefined : result.why
    return [{ name, result: result.kind, ...(why === undefined ? {} : { why }) }]
  })
}

export interface Authenticator {
  readonly name: string
  authenticate(request: HttpRequest): AuthenticationResult | Promise<AuthenticationResult>
}

/** Checks a bearer token alone: what TokenReview asks, and what the bearer authenticators share. */
export interface TokenAuthenticator {
  readonly name: string
  /** `audiences` empty: the API server's own. */
  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): AuthenticationResult | Promise<AuthenticationResult>
}
