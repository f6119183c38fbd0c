/** askedAgain: what a token names may have been written by another API server just now (upstream: controller/serviceaccount tokengetter). */
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AuthenticationResult, TokenAuthenticator } from './authenticator.ts'

/** Asks once more on the newest state before a token fails, where other servers write to the store, too. */
export function askedAgain(
  authenticator: TokenAuthenticator,
  reader: Pick<ObjectReader, 'refresh'>,
): TokenAuthenticator {
  return {
    name: authenticator.name,
    authenticateToken(token, audiences) {
      const again = (
        result: AuthenticationResult,
      ): AuthenticationResult | Promise<AuthenticationResult> => {
        if (result.kind !== 'failed') return result
        const refreshed = reader.refresh?.()
        if (refreshed === undefined) return result
        return refreshed.then(
          async () => await authenticator.authenticateToken(token, audiences),
          // The store is out of reach: what is known decides.
          () => result,
        )
      }
      const result = authenticator.authenticateToken(token, audiences)
      return result instanceof Promise ? result.then(again) : again(result)
    },
  }
}
