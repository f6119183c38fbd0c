/** Service account bindings: whether the objects that a verified token names still exist (upstream: serviceaccount/claims.go, legacy.go). */
import type { Dialect } from '../../api/dialect.ts'
import { legacyTokenTracking, tokenDateOf } from '../../api/legacy-tokens.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { LegacyTokenUses } from './legacy-token-uses.ts'
import type { ClaimedObject, ServiceAccountClaims } from './service-account-claims.ts'

/** How far clocks may differ, and how long tokens outlive a deleted object (upstream: go-jose's default leeway). */
const LEEWAY_MS = 60_000

export interface BindingOptions {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  /** False: legacy tokens hold even when their account or Secret is gone (`--service-account-lookup=false`). */
  readonly lookup?: boolean
  /** Told of the Secret whose token was accepted, once a day at least. */
  readonly legacyTokenUses?: Pick<LegacyTokenUses, 'used'> | undefined
}

function isGone(object: KubeObject | undefined, nowMs: number): boolean {
  const deletedAt = object?.metadata.deletionTimestamp
  return (
    object === undefined || (deletedAt !== undefined && Date.parse(deletedAt) < nowMs - LEEWAY_MS)
  )
}

/** Why an object that the token names does not bind it any more; undefined when it does. */
function whyUnbound(
  reader: ObjectReader,
  at: { resource: Resource; namespace: string; claimed: ClaimedObject; nowMs: number },
): string | undefined {
  const { resource, claimed } = at
  const object = reader.get(resource, at.namespace, claimed.name)
  if (isGone(object, at.nowMs)) return `${resource.singular} ${claimed.name} is gone`
  if (object?.metadata.uid !== claimed.uid) {
    return `${resource.singular} ${claimed.name} has another UID`
  }
  return undefined
}

/** Tells why a bound token does not hold at a time; undefined when it holds. */
export function boundTokenCheck({
  reader,
  dialect,
}: BindingOptions): (claims: ServiceAccountClaims, nowMs: number) => string | undefined {
  const { serviceAccounts, secrets, pods, nodes } = resourcesOf(dialect)
  return (claims, nowMs) => {
    const { namespace, expiresAtMs, notBeforeMs, pod, secret, node } = claims
    if (expiresAtMs === undefined || nowMs > expiresAtMs + LEEWAY_MS) return 'expired'
    if (notBeforeMs !== undefined && nowMs < notBeforeMs - LEEWAY_MS) return 'not valid yet'
    const check = (resource: Resource, claimed: ClaimedObject | undefined): string | undefined =>
      claimed === undefined
        ? undefined
        : whyUnbound(reader, { resource, namespace, claimed, nowMs })
    return (
      check(serviceAccounts, claims.serviceAccount) ??
      check(secrets, secret) ??
      check(pods, pod) ??
      (node !== undefined && pod === undefined
        ? whyUnbound(reader, { resource: nodes, namespace: '', claimed: node, nowMs })
        : undefined)
    )
  }
}

/** Tells why the token of a Secret does not hold at a time; undefined when it holds. */
export function legacyTokenCheck({
  reader,
  dialect,
  lookup = true,
  legacyTokenUses,
}: BindingOptions): (
  token: { claims: ServiceAccountClaims; token: string },
  nowMs: number,
) => string | undefined {
  const { serviceAccounts, secrets } = resourcesOf(dialect)
  const { invalidSince, lastUsed } = legacyTokenTracking(dialect)
  return ({ claims, token }, nowMs) => {
    if (claims.secret === undefined || claims.secret.name === '') return 'names no Secret'
    if (!lookup) return undefined
    const { namespace, serviceAccount: claimed } = claims
    const secret = reader.get(secrets, namespace, claims.secret.name)
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) {
      return 'its Secret is gone'
    }
    const data = (secret['data'] ?? {}) as Record<string, string>
    if (Buffer.from(data['token'] ?? '', 'base64').toString('utf8') !== token) {
      return 'its Secret holds another token'
    }
    if (secret.metadata.labels?.[invalidSince]) return 'marked invalid after long disuse'
    const why = whyUnbound(reader, { resource: serviceAccounts, namespace, claimed, nowMs })
    if (why === undefined && secret.metadata.labels?.[lastUsed] !== tokenDateOf(nowMs))
      legacyTokenUses?.used(keyOf(secret))
    return why
  }
}
