/** Authenticator: one way to find out who asks. Any that succeeds decides (spec: "Authentication"). */
import type { HttpRequest, UserInfo } from '../request.ts'

export type AuthenticationResult =
  | { readonly kind: 'user'; readonly user: UserInfo; readonly audiences?: readonly string[] }
  /** The request carries no credential of this authenticator's kind. */
  | { readonly kind: 'none' }
  /** It carries one and it is bad: 401 unless another authenticator accepts. `why` goes to the log only, never a secret. */
  | { readonly kind: 'failed'; readonly why: string }

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
