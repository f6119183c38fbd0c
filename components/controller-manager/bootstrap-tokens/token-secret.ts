/** Bootstrap token Secrets, pure: what one says, and until when. */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Secret } from '../../api/generated/types.ts'

/** The `type` of a bootstrap token Secret. */
export function tokenSecretType(dialect: Dialect): string {
  return labelKey(dialect, 'bootstrap', 'token')
}

/** A value of the Secret's data as text; '' when it is not there. */
function dataOf(secret: Secret, key: string): string {
  return Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8')
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/** When the token expires, in ms; undefined for never. An invalid time counts as expired (upstream: fail closed). */
export function expirationOf(secret: Secret): number | undefined {
  const text = dataOf(secret, 'expiration')
  if (text === '') return undefined
  const ms = rfc3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms
}

export interface SigningToken {
  readonly id: string
  /** `id.secret`, the key of its signatures. */
  readonly token: string
  readonly expiresAtMs: number | undefined
}

/** The token of a Secret that is whole, allowed to sign, and has not ended. */
export function signingToken(
  secret: Secret,
  dialect: Dialect,
  nowMs: number,
): SigningToken | undefined {
  const { name, namespace } = secret.metadata
  const id = dataOf(secret, 'token-id')
  const secretPart = dataOf(secret, 'token-secret')
  const expiresAtMs = expirationOf(secret)
  const isToken =
    secret.type === tokenSecretType(dialect) &&
    namespace === dialect.systemNamespace &&
    secret.metadata.deletionTimestamp === undefined &&
    name === `bootstrap-token-${id}` &&
    /^[a-z0-9]{6}$/.test(id) &&
    /^[a-z0-9]{16}$/.test(secretPart)
  const holds = expiresAtMs === undefined || expiresAtMs > nowMs
  if (!isToken || !holds || dataOf(secret, 'usage-bootstrap-signing') !== 'true') return undefined
  return { id, token: `${id}.${secretPart}`, expiresAtMs }
}
