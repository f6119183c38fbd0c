/** Service account tokens: who a signed token acts for, as long as everything it names still exists. */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { UserInfo } from '../request/request.ts'
import type { AuthenticationResult, TokenAuthenticator } from './authenticator.ts'
import type { ClaimedObject, ServiceAccountClaims } from './service-account-claims.ts'
import {
  legacyIssuer,
  readClaims,
  serviceAccountUserName,
  unverifiedIssuer,
} from './service-account-claims.ts'
import type { VerificationKey } from './service-account-keys.ts'
import { verifySignature } from './service-account-keys.ts'

/** How far clocks may differ, and how long a deleted object's tokens still hold (upstream: go-jose's default leeway). */
const LEEWAY_MS = 60_000
/** Verified tokens kept in memory. Signatures cannot become bad; everything else is looked at every time. */
const MAX_VERIFIED = 4096
/** Longer than any token of ours. */
const MAX_TOKEN_LENGTH = 16_384

const otherIssuer: AuthenticationResult = { kind: 'none', why: 'no JWT of this server’s issuers' }

interface VerifiedToken {
  readonly claims: ServiceAccountClaims
  readonly user: UserInfo
}

export interface ServiceAccountTokenOptions {
  readonly keys: readonly VerificationKey[]
  /** Issuers to accept; the first signs new tokens. */
  readonly issuers: readonly string[]
  /** The server's own audiences; a token for none of them is refused when nothing else is asked for. */
  readonly apiAudiences: readonly string[]
  readonly reader: ObjectReader
  readonly clock: Clock
  readonly dialect: Dialect
  /** False: legacy tokens hold even when their account or Secret is gone (`--service-account-lookup=false`). */
  readonly lookup?: boolean
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
  const { reader, clock, dialect, apiAudiences, lookup = true } = options
  const { serviceAccounts, secrets, pods, nodes } = resourcesOf(dialect)
  const issuers = new Set([...options.issuers, legacyIssuer(dialect)])
  const invalidSince = labelKey(dialect, '', 'legacy-token-invalid-since')
  const verified = new Map<string, VerifiedToken>()

  function isGone(object: KubeObject | undefined, nowMs: number): boolean {
    const deletedAt = object?.metadata.deletionTimestamp
    return (
      object === undefined || (deletedAt !== undefined && Date.parse(deletedAt) < nowMs - LEEWAY_MS)
    )
  }

  /** Why the named object does not carry the token any more. */
  function whyUnbound(
    resource: Resource,
    at: { namespace: string; claimed: ClaimedObject; nowMs: number },
  ): string | undefined {
    const object = reader.get(resource, at.namespace, at.claimed.name)
    if (isGone(object, at.nowMs)) return `${resource.singular} ${at.claimed.name} is gone`
    if (object?.metadata.uid !== at.claimed.uid) {
      return `${resource.singular} ${at.claimed.name} has another UID`
    }
    return undefined
  }

  function whyBoundFails(claims: ServiceAccountClaims, nowMs: number): string | undefined {
    const { namespace, expiresAtMs, notBeforeMs, pod, secret, node } = claims
    if (expiresAtMs === undefined || nowMs > expiresAtMs + LEEWAY_MS) return 'expired'
    if (notBeforeMs !== undefined && nowMs < notBeforeMs - LEEWAY_MS) return 'not valid yet'
    const check = (resource: Resource, claimed: ClaimedObject | undefined): string | undefined =>
      claimed === undefined ? undefined : whyUnbound(resource, { namespace, claimed, nowMs })
    return (
      check(serviceAccounts, claims.serviceAccount) ??
      check(secrets, secret) ??
      check(pods, pod) ??
      (node !== undefined && pod === undefined
        ? whyUnbound(nodes, { namespace: '', claimed: node, nowMs })
        : undefined)
    )
  }

  function whyLegacyFails(
    claims: ServiceAccountClaims,
    token: string,
    nowMs: number,
  ): string | undefined {
    if (claims.secret === undefined || claims.secret.name === '') return 'names no Secret'
    if (!lookup) return undefined
    const { namespace, serviceAccount } = claims
    const secret = reader.get(secrets, namespace, claims.secret.name)
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) {
      return 'its Secret is gone'
    }
    const data = (secret['data'] ?? {}) as Record<string, string>
    if (Buffer.from(data['token'] ?? '', 'base64').toString('utf8') !== token) {
      return 'its Secret holds another token'
    }
    if (secret.metadata.labels?.[invalidSince]) return 'marked invalid after long disuse'
    return whyUnbound(serviceAccounts, { namespace, claimed: serviceAccount, nowMs })
  }

  async function verify(token: string): Promise<VerifiedToken | string> {
    const payload = await verifySignature(token, options.keys)
    if (payload === undefined) return 'the signature does not hold'
    const claims = readClaims(payload, dialect)
    if (claims === undefined) return 'the claims do not name a service account'
    const found = { claims, user: userOf(claims, dialect) }
    if (verified.size >= MAX_VERIFIED) {
      for (const oldest of verified.keys()) {
        verified.delete(oldest)
        break
      }
    }
    verified.set(token, found)
    return found
  }

  /** Everything but the signature: what holds now may not hold any more. */
  function check(
    token: string,
    { claims, user }: VerifiedToken,
    audiences: readonly string[],
  ): AuthenticationResult {
    const wanted = audiences.length > 0 ? audiences : apiAudiences
    const offered = claims.audiences.length > 0 ? claims.audiences : apiAudiences
    const shared = wanted.filter((audience) => offered.includes(audience))
    if (shared.length === 0 && apiAudiences.length > 0) {
      const why = `token audiences ${JSON.stringify(offered)} is invalid for the target audiences ${JSON.stringify(wanted)}`
      return { kind: 'failed', why }
    }
    const nowMs = clock.now()
    const why =
      claims.kind === 'legacy' ? whyLegacyFails(claims, token, nowMs) : whyBoundFails(claims, nowMs)
    if (why !== undefined) return { kind: 'failed', why: `service account token: ${why}` }
    return { kind: 'user', user, audiences: shared }
  }

  return {
    name: 'service-account-token',
    authenticateToken(token, audiences) {
      if (token.length > MAX_TOKEN_LENGTH) return otherIssuer
      const known = verified.get(token)
      if (known !== undefined) return check(token, known, audiences)
      if (!issuers.has(unverifiedIssuer(token) ?? '')) return otherIssuer
      return verify(token).then((found) =>
        typeof found === 'string' ? { kind: 'failed', why: found } : check(token, found, audiences),
      )
    },
  }
}
