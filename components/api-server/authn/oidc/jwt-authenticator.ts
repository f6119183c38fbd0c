/** jwt-authenticator: identity tokens of one issuer (OpenID Connect; upstream: plugin/pkg/authenticator/token/oidc). */
import type { Clock } from '../../../component-base/clock.ts'
import type { JwtAuthenticatorConfig } from '../configuration/authentication-configuration.ts'
import type { UserInfo } from '../../request/request.ts'
import type { AuthenticationResult, TokenAuthenticator } from '../authenticator.ts'
import { unverifiedIssuer } from '../service-account-claims.ts'
import { ClaimError, userOfClaims } from './claim-mapping.ts'
import { createDistributedClaims, type KeysOfIssuer } from './distributed-claims.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { createTokenVerifier } from './verified-token.ts'

/** Longer than any token that fits a header. */
const maxTokenLength = 16_384
const maxKnown = 4096
/** The longest time that a token's user is cached, as in upstream's token cache. */
const knownForMs = 10_000

interface KnownToken {
  readonly user: UserInfo
  readonly untilMs: number
  readonly generation: number
}

const tooLong: AuthenticationResult = { kind: 'none', why: 'too long for a token' }

function failed(why: string): AuthenticationResult {
  return { kind: 'failed', why }
}

export function jwtAuthenticator(options: {
  readonly config: JwtAuthenticatorConfig
  readonly keys: IssuerKeys
  readonly algorithms: readonly string[]
  /** The key of `extra` with the token's identifier, for the audit log (upstream: user.CredentialIDKey). */
  readonly credentialIdKey: string
  /** The keys of the issuers of distributed claims. */
  readonly keysOfOthers: KeysOfIssuer
  readonly clock: Clock
}): TokenAuthenticator {
  const { config, keys, algorithms, credentialIdKey, keysOfOthers, clock } = options
  const known = new Map<string, KnownToken>()
  const verify = createTokenVerifier({ algorithms, clock })
  const distributed = createDistributedClaims({ config, verify, keysOf: keysOfOthers, clock })

  async function check(token: string): Promise<KnownToken | string> {
    const { generation } = keys
    const verified = await verify(token, { ...config, keys })
    if (typeof verified === 'string') return verified
    const claims = await distributed.resolve(verified)
    if (typeof claims === 'string') return claims
    const nowMs = clock.now()
    try {
      const user = withCredentialId(userOfClaims(config, claims), claims['jti'], credentialIdKey)
      const untilMs = Math.min(Number(claims['exp']) * 1000, nowMs + knownForMs)
      return { user, untilMs, generation: Math.max(generation, keys.generation) }
    } catch (error) {
      if (!(error instanceof ClaimError)) throw error
      return error.message
    }
  }

  function remember(token: string, found: KnownToken): void {
    if (known.size >= maxKnown) {
      const oldest = known.keys().next()
      if (oldest.done !== true) known.delete(oldest.value)
    }
    known.set(token, found)
  }

  return {
    name: 'oidc',
    authenticateToken(token) {
      if (token.length > maxTokenLength) return tooLong
      if (!known.has(token) && unverifiedIssuer(token) !== config.issuerUrl) return { kind: 'none' }
      const found = known.get(token)
      if (found !== undefined) {
        const holds = found.untilMs > clock.now() && found.generation === keys.generation
        if (holds) return { kind: 'user', user: found.user }
        known.delete(token)
      }
      return check(token).then((checked) => {
        if (typeof checked === 'string') return failed(checked)
        remember(token, checked)
        return { kind: 'user', user: checked.user }
      })
    },
  }
}

function withCredentialId(user: UserInfo, tokenId: unknown, key: string): UserInfo {
  if (typeof tokenId !== 'string' || tokenId === '') return user
  return { ...user, extra: { ...user.extra, [key]: [`JTI=${tokenId}`] } }
}
