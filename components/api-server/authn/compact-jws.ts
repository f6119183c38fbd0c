/**
 * Compact JWS (RFC 7515) with keys of this server, signed and verified in this thread: jose does both in others, which for a signature of 60 µs
 * costs more than it saves, and makes the order of events depend on the machine. Tokens of others are for jose (`oidc`).
 */
import { sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

export type JwsAlgorithm = 'RS256' | 'ES256' | 'ES384' | 'ES512'

const segment = /^[\w-]+$/
/** RFC 7518 (3.4): an ECDSA signature is its two numbers, not DER. RSA keys have no such option. */
const dsaEncoding = 'ieee-p1363'

const hashOf = (algorithm: JwsAlgorithm): string => `sha${algorithm.slice(2)}`

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function decoded(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A token that may have been signed by anybody. */
export interface UnverifiedJws {
  readonly header: Readonly<Record<string, unknown>>
  readonly signed: string
  readonly payload: string
  readonly signature: Buffer
}

/** Undefined for what is no compact JWS, and for one whose header has to be understood (`crit`). */
export function parseJws(token: string): UnverifiedJws | undefined {
  const [head = '', payload = '', signature = '', ...more] = token.split('.')
  if (more.length > 0 || ![head, payload, signature].every((one) => segment.test(one)))
    return undefined
  const header = decoded(head)
  if (!isRecord(header) || 'crit' in header || 'b64' in header) return undefined
  const bytes = Buffer.from(signature, 'base64url')
  return { header, signed: `${head}.${payload}`, payload, signature: bytes }
}

/** The claims, when this key signed them with this algorithm and no other. */
export function verifiedClaims(
  jws: UnverifiedJws,
  { key, algorithm }: { readonly key: KeyObject; readonly algorithm: JwsAlgorithm },
): Record<string, unknown> | undefined {
  if (jws.header['alg'] !== algorithm) return undefined
  const hash = hashOf(algorithm)
  if (!verify(hash, Buffer.from(jws.signed), { key, dsaEncoding }, jws.signature)) return undefined
  const claims = decoded(jws.payload)
  return isRecord(claims) ? claims : undefined
}

/** Signs the claims. The header has `alg` and then the given fields. */
export function signJws(
  claims: Readonly<Record<string, unknown>>,
  {
    key,
    algorithm,
    header,
  }: {
    readonly key: KeyObject
    readonly algorithm: JwsAlgorithm
    readonly header: Readonly<Record<string, string>>
  },
): string {
  const signed = `${encoded({ alg: algorithm, ...header })}.${encoded(claims)}`
  const signature = sign(hashOf(algorithm), Buffer.from(signed), { key, dsaEncoding })
  return `${signed}.${signature.toString('base64url')}`
}
