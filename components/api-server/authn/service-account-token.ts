/** Service account tokens: authenticates signed tokens as long as the objects that they name exist. */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { UserInfo } from '../request/request.ts'
import type { AuthenticationResult, TokenAuthenticator } from './authenticator.ts'
import {
  boundTokenCheck,
  legacyTokenCheck,
  type BindingOptions,
} from './service-account-bindings.ts'
import type { ServiceAccountClaims } from './service-account-claims.ts'
import {
  legacyIssuer,
  readClaims,
  serviceAccountUserName,
  unverifiedIssuer,
} from './service-account-claims.ts'
import type { VerificationKey } from './service-account-keys.ts'
import { verifySignature } from './service-account-keys.ts'

/** Verified tokens kept in memory. Signatures stay valid; everything else is checked every time. */
const MAX_VERIFIED = 4096
/** Longer than any token of ours. */
const MAX_TOKEN_LENGTH = 16_384

const otherIssuer: AuthenticationResult = { kind: 'none', why: 'no JWT of this server’s issuers' }

interface VerifiedToken {
  readonly token: string
  readonly claims: ServiceAccountClaims
  readonly user: UserInfo
}

export interface ServiceAccountTokenOptions extends BindingOptions {
  readonly keys: readonly VerificationKey[]
  /** Issuers to accept; the first signs new tokens. */
  readonly issuers: readonly string[]
  /** The server's own audiences. Without others in a review, a token must name one of them. */
  readonly apiAudiences: readonly string[]
  readonly clock: Clock
}

function userOf(claims: ServiceAccountClaims, dialect: Dialect): UserInfo {
  const { namespace, serviceAccount, pod, node, tokenId } = claims
  const extra: Record<string, string[]> = {}
  const add = (name: string, value: string | undefined): void => {
    if (value) extra[labelKey(dialect, 'authentication', name)] = [value]
  }
  add('credential-id', tokenId === undefined ? undefined : `JTI=${tokenId}`)
  add('node-name', node?.name)
  add('node-uid', node?.uid)
  add('pod-name', pod?.name)
  add('pod-uid', pod?.uid)
  return {
    name: serviceAccountUserName(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

export function serviceAccountTokenAuthenticator(
  options: ServiceAccountTokenOptions,
): TokenAuthenticator {
  const { clock, dialect, apiAudiences } = options
  const issuers = new Set([...options.issuers, legacyIssuer(dialect)])
  const verified = new Map<string, VerifiedToken>()
  const whyBoundFails = boundTokenCheck(options)
  const whyLegacyFails = legacyTokenCheck(options)

  function verify(token: string): VerifiedToken | string {
    const payload = verifySignature(token, options.keys)
    if (payload === undefined) return 'the signature does not hold'
    const claims = readClaims(payload, dialect)
    if (claims === undefined) return 'the claims do not name a service account'
    const found = { token, claims, user: userOf(claims, dialect) }
    if (verified.size >= MAX_VERIFIED) {
      for (const oldest of verified.keys()) {
        verified.delete(oldest)
        break
      }
    }
    verified.set(token, found)
    return found
  }

  /** Everything but the signature, which may change between requests. */
  function check(known: VerifiedToken, audiences: readonly string[]): AuthenticationResult {
    const { claims, user } = known
    const wanted = audiences.length > 0 ? audiences : apiAudiences
    const offered = claims.audiences.length > 0 ? claims.audiences : apiAudiences
    const shared = wanted.filter((audience) => offered.includes(audience))
    if (shared.length === 0 && apiAudiences.length > 0) {
      const why = `token audiences ${JSON.stringify(offered)} is invalid for the target audiences ${JSON.stringify(wanted)}`
      return { kind: 'failed', why }
    }
    const nowMs = clock.now()
    const why =
      claims.kind === 'legacy' ? whyLegacyFails(known, nowMs) : whyBoundFails(claims, nowMs)
    if (why !== undefined) return { kind: 'failed', why: `service account token: ${why}` }
    return { kind: 'user', user, audiences: shared }
  }

  return {
    name: 'service-account-token',
    authenticateToken(token, audiences) {
      if (token.length > MAX_TOKEN_LENGTH) return otherIssuer
      const known = verified.get(token)
      if (known !== undefined) return check(known, audiences)
      if (!issuers.has(unverifiedIssuer(token) ?? '')) return otherIssuer
      const found = verify(token)
      return typeof found === 'string' ? { kind: 'failed', why: found } : check(found, audiences)
    },
  }
}
