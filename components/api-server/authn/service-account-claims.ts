/** The claims of service account tokens: of bound tokens, and of the older tokens in Secrets. */
import type { Dialect } from '../../api/dialect.ts'

/** An object that a token names; the token is valid only if both match. */
export interface ClaimedObject {
  readonly name: string
  readonly uid: string
}

export interface ServiceAccountClaims {
  readonly kind: 'bound' | 'legacy'
  readonly namespace: string
  readonly serviceAccount: ClaimedObject
  readonly audiences: readonly string[]
  /** Undefined for a legacy token. */
  readonly expiresAtMs: number | undefined
  readonly notBeforeMs: number | undefined
  readonly pod: ClaimedObject | undefined
  readonly node: ClaimedObject | undefined
  readonly secret: ClaimedObject | undefined
  readonly tokenId: string | undefined
}

/** The issuer of all legacy tokens. */
export function legacyIssuer(dialect: Dialect): string {
  return `${dialect.name}/serviceaccount`
}

/** The claim with the fields of service accounts. */
export function privateClaim(dialect: Dialect): string {
  return dialect.labelDomain
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

function claimedObject(value: unknown): ClaimedObject | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { name, uid } = value as Record<string, unknown>
  return { name: text(name), uid: text(uid) }
}

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value * 1000 : undefined
}

function audiencesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** How many issuers of tokens are cached, and the longest token: a few megabytes at most. */
const mostRemembered = 1024
const longestRemembered = 4096
const remembered = new Map<string, string | undefined>()

/** The `iss` of a token that has not been verified yet; undefined when it is not a JWT. Cached, since clients send the same token again. */
export function unverifiedIssuer(token: string): string | undefined {
  const known = remembered.get(token)
  if (known !== undefined || remembered.has(token)) return known
  const issuer = readIssuer(token)
  if (token.length > longestRemembered) return issuer
  if (remembered.size >= mostRemembered) {
    const oldest = remembered.keys().next()
    if (oldest.done !== true) remembered.delete(oldest.value)
  }
  remembered.set(token, issuer)
  return issuer
}

function readIssuer(token: string): string | undefined {
  const parts = token.split('.')
  if (parts.length !== 3) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'))
    return typeof claims === 'object' && claims !== null
      ? text((claims as Record<string, unknown>)['iss'])
      : undefined
  } catch {
    // Not JSON, so not a service account token.
    return undefined
  }
}

/** Reads verified claims; undefined when they do not name a service account consistently. */
export function readClaims(
  claims: Record<string, unknown>,
  dialect: Dialect,
): ServiceAccountClaims | undefined {
  const isLegacy = claims['iss'] === legacyIssuer(dialect)
  const own = (claims[privateClaim(dialect)] ?? {}) as Record<string, unknown>
  const old = (name: string): string =>
    text(claims[`${dialect.labelDomain}/serviceaccount/${name}`])
  const found: ServiceAccountClaims = isLegacy
    ? {
        kind: 'legacy',
        namespace: old('namespace'),
        serviceAccount: { name: old('service-account.name'), uid: old('service-account.uid') },
        audiences: audiencesOf(claims['aud']),
        expiresAtMs: undefined,
        notBeforeMs: undefined,
        pod: undefined,
        node: undefined,
        secret: { name: old('secret.name'), uid: '' },
        tokenId: undefined,
      }
    : {
        kind: 'bound',
        namespace: text(own['namespace']),
        serviceAccount: claimedObject(own['serviceaccount']) ?? { name: '', uid: '' },
        audiences: audiencesOf(claims['aud']),
        expiresAtMs: seconds(claims['exp']),
        notBeforeMs: seconds(claims['nbf']),
        pod: claimedObject(own['pod']),
        node: claimedObject(own['node']),
        secret: claimedObject(own['secret']),
        tokenId: text(claims['jti']) || undefined,
      }
  const { namespace, serviceAccount } = found
  const isWhole = namespace !== '' && serviceAccount.name !== '' && serviceAccount.uid !== ''
  const isConsistent = claims['sub'] === serviceAccountUserName(namespace, serviceAccount.name)
  return isWhole && isConsistent ? found : undefined
}

/** `system:serviceaccount:<namespace>:<name>`. */
export function serviceAccountUserName(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`
}
