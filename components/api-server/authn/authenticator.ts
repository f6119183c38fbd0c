/** Authenticator: one way to authenticate a request. The first that succeeds wins (spec: "Authentication"). */
import type { Trial } from '../../api/explanations.ts'
import type { HttpRequest, UserInfo } from '../request/request.ts'

export type AuthenticationResult =
  | {
      readonly kind: 'user'
      readonly user: UserInfo
      readonly audiences?: readonly string[]
      /** Which of several authenticators accepted, where one asks others. */
      readonly by?: string
    }
  /** The request carries no credential of this authenticator's kind; `why` is for explanations. */
  | { readonly kind: 'none'; readonly why?: string }
  /** An invalid credential: 401 unless another authenticator accepts. `why` goes to the log only and contains no secret. */
  | { readonly kind: 'failed'; readonly why: string; readonly tried?: readonly Trial[] }

/** Results of the authenticators that were asked, in order. */
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

/** Authenticates a bearer token, of a request or of a TokenReview. */
export interface TokenAuthenticator {
  readonly name: string
  /** `audiences` empty: the API server's own. */
  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): AuthenticationResult | Promise<AuthenticationResult>
}
