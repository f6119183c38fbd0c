/** Bearer tokens: passes a request's token to each token authenticator until one accepts it. */
import type { Dialect } from '../../api/dialect.ts'
import type { HttpRequest } from '../request/request.ts'
import {
  trialsOf,
  type AuthenticationResult,
  type Authenticator,
  type TokenAuthenticator,
} from './authenticator.ts'

const none: AuthenticationResult = { kind: 'none', why: 'no bearer token' }

function only(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** The prefix of a WebSocket protocol name that carries a token. */
export function bearerProtocolPrefix(dialect: Dialect): string {
  return `base64url.bearer.authorization.${dialect.apiDomain}.`
}

/** The protocols that a request offers, without the caller's token, which must not be forwarded. */
export function protocolsWithoutToken(
  request: Pick<HttpRequest, 'values'>,
  dialect: Dialect,
): string[] {
  const secret = bearerProtocolPrefix(dialect)
  return request
    .values('sec-websocket-protocol')
    .flatMap((value) => value.split(',').map((one) => one.trim()))
    .filter((one) => !one.startsWith(secret))
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
  return tokenFromProtocols(request, bearerProtocolPrefix(dialect))
}

/** The failure of all authenticators, with every reason. */
function refusedBy(
  authenticators: readonly TokenAuthenticator[],
  passed: readonly AuthenticationResult[],
): AuthenticationResult {
  const reasons = passed.flatMap((result) => (result.kind === 'failed' ? [result.why] : []))
  if (reasons.length === 0) return none
  return { kind: 'failed', why: reasons.join(', '), tried: trialsOf(authenticators, passed) }
}

/**
 * Asks in order: the first `user` wins. `failed` has every reason. Empty `audiences` means the API server's own. `passed`
 * receives the results of the others. Synchronous unless an authenticator is not.
 */
export function authenticateToken(
  authenticators: readonly TokenAuthenticator[],
  token: string,
  audiences: readonly string[] = [],
  passed: AuthenticationResult[] = [],
): AuthenticationResult | Promise<AuthenticationResult> {
  for (let at = passed.length; at < authenticators.length; at += 1) {
    const result = authenticators[at]?.authenticateToken(token, audiences) ?? none
    if (result instanceof Promise) {
      return result.then((settled) => {
        if (settled.kind === 'user') return settled
        passed.push(settled)
        return authenticateToken(authenticators, token, audiences, passed)
      })
    }
    if (result.kind === 'user') return result
    passed.push(result)
  }
  return refusedBy(authenticators, passed)
}

const otherAudience: AuthenticationResult = {
  kind: 'none',
  why: 'asked for audiences that are not of this server',
}

/**
 * Tokens without audiences are valid for the server's own audiences only: a review for other audiences must not accept
 * them.
 */
export function forOwnAudiences(
  authenticator: TokenAuthenticator,
  own: readonly string[],
): TokenAuthenticator {
  return {
    name: authenticator.name,
    authenticateToken(token, audiences) {
      if (audiences.length === 0) return authenticator.authenticateToken(token, audiences)
      const shared = audiences.filter((audience) => own.includes(audience))
      if (shared.length === 0) return otherAudience
      const narrowed = (result: AuthenticationResult): AuthenticationResult =>
        result.kind === 'user' ? { ...result, audiences: shared } : result
      const result = authenticator.authenticateToken(token, [])
      return result instanceof Promise ? result.then(narrowed) : narrowed(result)
    },
  }
}

/** A token that no authenticator accepts is a failure, never anonymous. */
export function bearerTokenAuthenticator(
  authenticators: readonly TokenAuthenticator[],
  dialect: Dialect,
): Authenticator {
  return {
    name: 'bearer-token',
    authenticate(request) {
      const token = bearerToken(request, dialect)
      if (token === undefined) return none
      const passed: AuthenticationResult[] = []
      const result = authenticateToken(authenticators, token, [], passed)
      const orInvalid = (settled: AuthenticationResult): AuthenticationResult => {
        if (settled.kind === 'user') {
          // Those before it have not accepted the token.
          return { ...settled, by: authenticators[passed.length]?.name ?? 'bearer-token' }
        }
        if (settled.kind === 'failed') return settled
        const tried = trialsOf(authenticators, passed)
        return { kind: 'failed', why: 'invalid bearer token', tried }
      }
      return result instanceof Promise ? result.then(orInvalid) : orInvalid(result)
    },
  }
}
