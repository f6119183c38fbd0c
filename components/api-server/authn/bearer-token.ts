/** Bearer tokens: taken from the request and handed to each token authenticator until one knows it. */
import type { Dialect } from '../../api/dialect.ts'
import type { HttpRequest } from '../request.ts'
import type { AuthenticationResult, Authenticator, TokenAuthenticator } from './authenticator.ts'

const none: AuthenticationResult = { kind: 'none' }

function only(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** Browsers cannot set Authorization on a WebSocket, so they may send the token as a protocol name. */
function tokenFromProtocols(request: HttpRequest, prefix: string): string | undefined {
  if (only(request.headers['upgrade'])?.toLowerCase() !== 'websocket') return undefined
  const offered = only(request.headers['sec-websocket-protocol'])?.split(',') ?? []
  const found = offered.map((name) => name.trim()).find((name) => name.startsWith(prefix))
  return found === undefined
    ? undefined
    : Buffer.from(found.slice(prefix.length), 'base64url').toString('utf8')
}

/** The token of `Authorization: Bearer <token>`, or undefined for another scheme or none. */
export function bearerToken(request: HttpRequest, dialect: Dialect): string | undefined {
  const [scheme, token] = only(request.headers['authorization'])?.trim().split(' ') ?? []
  if (scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '') return token
  return tokenFromProtocols(request, `base64url.bearer.authorization.${dialect.apiDomain}.`)
}

/**
 * Asks in order: the first that says `user` decides. `failed` carries every reason. Empty `audiences` means the API
 * server's own.
 */
export async function authenticateToken(
  authenticators: readonly TokenAuthenticator[],
  token: string,
  audiences: readonly string[] = [],
): Promise<AuthenticationResult> {
  const reasons: string[] = []
  for (const authenticator of authenticators) {
    const result = await authenticator.authenticateToken(token, audiences)
    if (result.kind === 'user') return result
    if (result.kind === 'failed') reasons.push(result.why)
  }
  return reasons.length === 0 ? none : { kind: 'failed', why: reasons.join(', ') }
}

/** A token that nobody knows is a failure, never anonymous. */
export function bearerTokenAuthenticator(
  authenticators: readonly TokenAuthenticator[],
  dialect: Dialect,
): Authenticator {
  return {
    name: 'bearer-token',
    authenticate(request) {
      const token = bearerToken(request, dialect)
      if (token === undefined) return none
      return authenticateToken(authenticators, token).then((result) =>
        result.kind === 'none' ? { kind: 'failed', why: 'invalid bearer token' } : result,
      )
    },
  }
}
