/** Issues bound service account tokens for TokenRequests (`serviceaccounts/<name>/token`). */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import { timestamp } from '../../component-base/clock.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { invalid } from '../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import {
  bindObject,
  claimedObjectOf,
  existingObject,
  type BoundObject,
  type BoundObjectReference,
} from './bound-object.ts'
import type { ClaimedObject } from './service-account-claims.ts'
import { privateClaim, serviceAccountUserName } from './service-account-claims.ts'
import type { parseSigningKey, VerificationKey } from './service-account-keys.ts'
import { jsonWebKeySet, signClaims } from './service-account-keys.ts'

const MIN_SECONDS = 600
const MAX_SECONDS = 2 ** 32
const DEFAULT_SECONDS = 3600
/** What the volume of every pod asks for; the kubelet renews such a token within the hour. */
export const projectedTokenSeconds = 3607
/** Such a token still holds for a year, for clients that read the file only once. */
const EXTENDED_SECONDS = 365 * 24 * 3600

export interface IssuerOptions {
  readonly issuer: string
  readonly signingKey: ReturnType<typeof parseSigningKey>
  /** Published besides the signing key: keys of other servers and older ones. */
  readonly verificationKeys: readonly VerificationKey[]
  readonly apiAudiences: readonly string[]
  readonly reader: ObjectReader
  readonly clock: Clock
  readonly dialect: Dialect
}

export interface ServiceAccountIssuer {
  /**
   * Answers a TokenRequest for the account: the request with its status filled. Throws a StatusError: 422 for a bad
   * duration, 404 for a missing account or bound object, 400 and 409 for an object that it cannot be bound to.
   */
  createToken(at: { namespace: string; name: string; request: KubeObject }): Promise<KubeObject>
  /** The document at `/openid/v1/jwks`. */
  jwks(): ReturnType<typeof jsonWebKeySet>
  /** The document at `/.well-known/openid-configuration`. */
  openidConfiguration(jwksUri: string): Record<string, unknown>
}

interface TokenRequestSpec {
  readonly audiences?: string[]
  readonly expirationSeconds?: number
  readonly boundObjectRef?: BoundObjectReference
}

type Account = Readonly<{ namespace: string; name: string }>

const groupKind = (dialect: Dialect) => ({
  group: apiGroup(dialect, 'authentication'),
  kind: 'TokenRequest',
})

function validateExpiration(seconds: number, dialect: Dialect): void {
  const field = 'spec.expirationSeconds'
  const tooShort = 'may not specify a duration less than 10 minutes'
  const tooLong = 'may not specify a duration larger than 2^32 seconds'
  const detail = seconds < MIN_SECONDS ? tooShort : seconds > MAX_SECONDS ? tooLong : undefined
  if (detail !== undefined) {
    throw invalid(groupKind(dialect), '', [invalidValue(field, { value: seconds, detail })])
  }
}

/** The request's own name and namespace, where given, must be the account's. */
function checkMetadata(
  request: KubeObject,
  { account, dialect }: { account: Account; dialect: Dialect },
): void {
  for (const part of ['name', 'namespace'] as const) {
    const value = request.metadata?.[part]
    if (!value || value === account[part]) continue
    const detail = `must match the service account ${part} if specified`
    const problem = invalidValue(`metadata.${part}`, { value, detail })
    throw invalid(groupKind(dialect), account.name, [problem])
  }
}

interface NewToken {
  readonly account: Account
  readonly serviceAccount: ClaimedObject
  readonly bound: BoundObject
  readonly audiences: readonly string[]
  readonly seconds: number
  readonly nowSeconds: number
}

/** An object as a claim; one whose UID is unknown has its name only. */
const claim = ({ name, uid }: ClaimedObject): Record<string, string> =>
  uid === '' ? { name } : { name, uid }

/** The claims of a bound token (upstream: serviceaccount/claims.go). */
function claimsOf(token: NewToken, options: IssuerOptions): Record<string, unknown> {
  const { dialect, clock, issuer, apiAudiences } = options
  const { account, serviceAccount, bound, audiences, seconds, nowSeconds } = token
  const isOwnAudience = audiences.every((audience) => apiAudiences.includes(audience))
  const isExtended = seconds === projectedTokenSeconds && bound.pod !== undefined && isOwnAudience
  return {
    aud: audiences,
    exp: nowSeconds + (isExtended ? EXTENDED_SECONDS : seconds),
    iat: nowSeconds,
    iss: issuer,
    jti: clock.uuid(),
    [privateClaim(dialect)]: {
      namespace: account.namespace,
      ...(bound.node === undefined ? {} : { node: claim(bound.node) }),
      ...(bound.pod === undefined ? {} : { pod: claim(bound.pod) }),
      ...(bound.secret === undefined ? {} : { secret: claim(bound.secret) }),
      serviceaccount: claim(serviceAccount),
      ...(isExtended ? { warnafter: nowSeconds + seconds } : {}),
    },
    nbf: nowSeconds,
    sub: serviceAccountUserName(account.namespace, account.name),
  }
}

async function createToken(
  options: IssuerOptions,
  { namespace, name, request }: Parameters<ServiceAccountIssuer['createToken']>[0],
): Promise<KubeObject> {
  const { reader, dialect, clock, signingKey, apiAudiences } = options
  const spec = (request['spec'] ?? {}) as TokenRequestSpec
  const account = { namespace, name }
  checkMetadata(request, { account, dialect })
  const { serviceAccounts } = resourcesOf(dialect)
  const stored = existingObject(reader, { resource: serviceAccounts, namespace, name })
  const seconds = spec.expirationSeconds ?? DEFAULT_SECONDS
  validateExpiration(seconds, dialect)
  const ref = spec.boundObjectRef
  const bound = ref ? bindObject({ reader, dialect, account, ref }) : {}
  const audiences = spec.audiences?.length ? spec.audiences : [...apiAudiences]
  const nowSeconds = Math.floor(clock.now() / 1000)
  const serviceAccount = claimedObjectOf(stored)
  const claims = { account, serviceAccount, bound, audiences, seconds, nowSeconds }
  const token = signClaims(claimsOf(claims, options), signingKey)
  const creationTimestamp = timestamp(nowSeconds * 1000)
  return {
    ...request,
    metadata: { ...request.metadata, name, namespace, creationTimestamp },
    spec: { ...spec, audiences, expirationSeconds: seconds, boundObjectRef: ref ?? null },
    status: { token, expirationTimestamp: timestamp((nowSeconds + seconds) * 1000) },
  }
}

export function createServiceAccountIssuer(options: IssuerOptions): ServiceAccountIssuer {
  const { issuer, signingKey, verificationKeys } = options
  const keys = [
    signingKey.public,
    ...verificationKeys.filter(({ keyId }) => keyId !== signingKey.public.keyId),
  ]
  return {
    createToken: (at) => createToken(options, at),
    jwks: () => jsonWebKeySet(keys),
    openidConfiguration: (jwksUri) => ({
      issuer,
      jwks_uri: jwksUri,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [
        ...new Set(keys.map(({ algorithm }) => algorithm)),
      ].toSorted(),
    }),
  }
}
