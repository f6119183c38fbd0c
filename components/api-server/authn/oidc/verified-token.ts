/** verified-token: the claims of a token with valid signature, issuer, audience and times. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import type { Clock } from '../../../component-base/clock.ts'
import { hasDuplicateFields } from '../../../machinery/values/duplicate-fields.ts'
import { measureJson } from '../../../machinery/values/json-measure.ts'
import type { Claims } from './claim-mapping.ts'
import type { IssuerKeys } from './issuer-keys.ts'

/** How long before its `nbf` a token is accepted. */
const leewayMs = 300_000
export interface TokenSource {
  readonly issuerUrl: string
  /** One of them must be the token's. */
  readonly audiences: readonly string[]
  readonly keys: IssuerKeys
}

/** The claims, or the token's error. */
export type VerifyToken = (token: string, from: TokenSource) => Promise<Claims | string>

/** Imported keys, cached as long as the issuer's key set. */
export function createTokenVerifier(options: {
  readonly algorithms: readonly string[]
  readonly clock: Clock
}): VerifyToken {
  const { algorithms, clock } = options
  const imported = new WeakMap<JWK, KeyObject | undefined>()

  function keyOf(jwk: JWK): KeyObject | undefined {
    if (!imported.has(jwk)) imported.set(jwk, importKey(jwk))
    return imported.get(jwk)
  }

  /** Undefined when none of the keys verifies the signature. */
  async function claimsBy(
    keys: readonly JWK[],
    token: string,
    keyId: string | undefined,
  ): Promise<Claims | string | undefined> {
    const { compactVerify } = await import('jose')
    for (const jwk of keys) {
      if (keyId !== undefined && jwk.kid !== undefined && jwk.kid !== keyId) continue
      const key = keyOf(jwk)
      if (key === undefined) continue
      try {
        const { payload } = await compactVerify(token, key, {
          algorithms:
            jwk.alg === undefined ? [...algorithms] : algorithms.filter((one) => one === jwk.alg),
        })
        return claimsOf(Buffer.from(payload))
      } catch {
        // Another key may fit.
      }
    }
    return undefined
  }

  async function signedClaims(token: string, keys: IssuerKeys): Promise<Claims | string> {
    const { decodeProtectedHeader } = await import('jose')
    let keyId: string | undefined
    try {
      keyId = decodeProtectedHeader(token).kid
    } catch {
      return 'oidc: malformed jwt'
    }
    const found = await keys.find(keyId)
    if (found === undefined) return 'oidc: authenticator not initialized'
    const claims = await claimsBy(found, token, keyId)
    if (claims !== undefined) return claims
    // An issuer may reuse the identifier for a new key, or set none.
    const others = await keys.findOthers(found)
    const renewed = others === found ? undefined : await claimsBy(others, token, keyId)
    return renewed ?? 'oidc: verify token: failed to verify signature'
  }

  return async (token, from) => {
    const claims = await signedClaims(token, from.keys)
    if (typeof claims === 'string') return claims
    return standardFault(from, claims, clock.now()) ?? claims
  }
}

function importKey(jwk: JWK): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: { ...jwk } as never, format: 'jwk' })
    return key.asymmetricKeyType === 'rsa' || key.asymmetricKeyType === 'ec' ? key : undefined
  } catch {
    // A key of an unsupported kind.
    return undefined
  }
}

/** The payload's claims, or its error. */
function claimsOf(payload: Buffer): Claims | string {
  const fault = 'oidc: failed to unmarshal claims'
  const measure = measureJson(payload)
  if (measure.depth > 100) return fault
  try {
    const claims: unknown = JSON.parse(payload.toString())
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return fault
    // A duplicate key is ambiguous.
    if (hasDuplicateFields(measure.fields, claims)) return 'oidc: a claim is given twice'
    return claims as Claims
  } catch {
    return fault
  }
}

function audiencesOf(claims: Claims): string[] | undefined {
  const { aud } = claims as { aud?: unknown }
  if (typeof aud === 'string') return [aud]
  if (Array.isArray(aud) && aud.every((one) => typeof one === 'string')) return aud
  return undefined
}

/** Checks of every token, whatever the mappings (OIDC-059..061). */
function standardFault(
  from: Pick<TokenSource, 'issuerUrl' | 'audiences'>,
  claims: Claims,
  nowMs: number,
): string | undefined {
  const { iss, exp, nbf } = claims as { iss?: unknown; exp?: unknown; nbf?: unknown }
  if (iss !== from.issuerUrl) return 'oidc: id token issued by a different provider'
  const audiences = audiencesOf(claims)
  if (audiences === undefined) return 'oidc: the token has no audience'
  if (!audiences.some((one) => from.audiences.includes(one))) {
    return `oidc: expected audience in ${JSON.stringify(from.audiences)}`
  }
  if (typeof exp !== 'number') return 'oidc: the token has no expiry'
  if (nowMs > exp * 1000) return 'oidc: token is expired'
  if (nbf !== undefined && typeof nbf !== 'number') return 'oidc: nbf is no number'
  if (typeof nbf === 'number' && nowMs + leewayMs < nbf * 1000)
    return 'oidc: token is not valid yet'
  return undefined
}
