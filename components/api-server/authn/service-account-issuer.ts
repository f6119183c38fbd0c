/** Issues bound service account tokens: what a POST to `serviceaccounts/<name>/token` does. */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import { timestamp } from '../../component-base/clock.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { badRequest, conflict, invalid, notFound } from '../../machinery/objects/status-error.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { ClaimedObject } from './service-account-claims.ts'
import { privateClaim, serviceAccountUserName } from './service-account-claims.ts'
import type { parseSigningKey, VerificationKey } from './service-account-keys.ts'
import { jsonWebKeySet, signClaims } from './service-account-keys.ts'

const MIN_SECONDS = 600
const MAX_SECONDS = 2 ** 32
const DEFAULT_SECONDS = 3600
/** What the volume that every pod gets asks for; such a token is meant to be renewed after an hour. */
export const projectedTokenSeconds = 3607
/** But it holds for a year, for clients that read the file only once. */
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
  /** `--service-account-max-token-expiration`. */
  readonly maxExpirationSeconds?: number
  /** `--service-account-extend-token-expiration`; default true. */
  readonly extendExpiration?: boolean
}

export interface ServiceAccountIssuer {
  /**
   * Answers a TokenRequest for the account: the request with its status filled. Throws a StatusError: 422 for a bad
   * duration, 404 for a missing account or bound object, 400 and 409 for a bound object that does not fit.
   */
  createToken(at: {
    namespace: string
    name: string
    request: KubeObject
    warnings: string[]
  }): Promise<KubeObject>
  /** The document at `/openid/v1/jwks`. */
  jwks(): ReturnType<typeof jsonWebKeySet>
  /** The document at `/.well-known/openid-configuration`. */
  openidConfiguration(jwksUri: string): Record<string, unknown>
}

interface BoundObject {
  readonly pod?: ClaimedObject
  readonly secret?: ClaimedObject
  readonly node?: ClaimedObject
}

const named = (object: KubeObject): ClaimedObject => ({
  name: object.metadata.name ?? '',
  uid: object.metadata.uid ?? '',
})

export function createServiceAccountIssuer(options: IssuerOptions): ServiceAccountIssuer {
  const { reader, clock, dialect, issuer, signingKey, extendExpiration = true } = options
  const { serviceAccounts, pods, secrets, nodes } = resourcesOf(dialect)
  const keys = [
    signingKey.public,
    ...options.verificationKeys.filter(({ keyId }) => keyId !== signingKey.public.keyId),
  ]

  const kind = { group: apiGroup(dialect, 'authentication'), kind: 'TokenRequest' }

  function validate(seconds: number): void {
    const field = 'spec.expirationSeconds'
    const tooShort = 'may not specify a duration less than 10 minutes'
    const tooLong = 'may not specify a duration larger than 2^32 seconds'
    const detail = seconds < MIN_SECONDS ? tooShort : seconds > MAX_SECONDS ? tooLong : undefined
    if (detail !== undefined) {
      throw invalid(kind, '', [invalidValue(field, { value: seconds, detail })])
    }
  }

  /** The request's own name and namespace, where given, must be the account's. */
  function checkMetadata(request: KubeObject, at: { namespace: string; name: string }): void {
    for (const part of ['name', 'namespace'] as const) {
      const value = request.metadata?.[part]
      if (!value || value === at[part]) continue
      const detail = `must match the service account ${part} if specified`
      throw invalid(kind, at.name, [invalidValue(`metadata.${part}`, { value, detail })])
    }
  }

  function existing(resource: Resource, namespace: string, name: string): KubeObject {
    const object = reader.get(resource, namespace, name)
    if (object === undefined) throw notFound(resource, name)
    return object
  }

  function checkUid(ref: { kind: string; name: string; uid: string }, object: KubeObject): void {
    if (ref.uid === '' || ref.uid === object.metadata.uid) return
    const why = `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`
    throw conflict({ group: '', plural: ref.kind }, ref.name, why)
  }

  function bind(
    at: { namespace: string; name: string },
    wanted: { apiVersion?: string; kind?: string; name?: string; uid?: string },
  ): BoundObject {
    const { apiVersion = '', kind = '', name = '', uid = '' } = wanted
    const slash = apiVersion.indexOf('/')
    const group = slash < 0 ? '' : apiVersion.slice(0, slash)
    const ref = { kind, name, uid }
    if (group === '' && kind === 'Pod') {
      const pod = existing(pods, at.namespace, name)
      if (pod['spec']?.serviceAccountName !== at.name) {
        throw badRequest(
          `cannot bind token for serviceaccount "${at.name}" to pod running with different serviceaccount name.`,
        )
      }
      checkUid(ref, pod)
      const nodeName = String(pod['spec']?.nodeName ?? '')
      if (nodeName === '') return { pod: named(pod) }
      // A node that is not there any more is named all the same, so that a reader knows where the pod was.
      const nodeUid = reader.get(nodes, '', nodeName)?.metadata.uid ?? ''
      return { pod: named(pod), node: { name: nodeName, uid: nodeUid } }
    }
    if (group === '' && kind === 'Secret') {
      const secret = existing(secrets, at.namespace, name)
      checkUid(ref, secret)
      return { secret: named(secret) }
    }
    if (group === '' && kind === 'Node') {
      const node = existing(nodes, '', name)
      checkUid(ref, node)
      return { node: named(node) }
    }
    const version = apiVersion.slice(slash + 1)
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`)
  }

  /** A whole object, apart from a UID that is not known. */
  const claim = ({ name, uid }: ClaimedObject): Record<string, string> =>
    uid === '' ? { name } : { name, uid }

  return {
    async createToken({ namespace, name, request, warnings }) {
      const spec = (request['spec'] ?? {}) as {
        audiences?: string[]
        expirationSeconds?: number
        boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string }
      }
      let seconds = spec.expirationSeconds ?? DEFAULT_SECONDS
      checkMetadata(request, { namespace, name })
      const account = existing(serviceAccounts, namespace, name)
      validate(seconds)
      const bound = spec.boundObjectRef ? bind({ namespace, name }, spec.boundObjectRef) : {}
      const audiences = spec.audiences?.length ? spec.audiences : [...options.apiAudiences]
      const limit = options.maxExpirationSeconds ?? 0
      if (limit > 0 && seconds > limit) {
        warnings.push(`requested expiration of ${seconds} seconds shortened to ${limit} seconds`)
        seconds = limit
      }
      const isOwnAudience = audiences.every((audience) => options.apiAudiences.includes(audience))
      const isExtended =
        extendExpiration &&
        seconds === projectedTokenSeconds &&
        bound.pod !== undefined &&
        isOwnAudience
      const now = Math.floor(clock.now() / 1000)
      const token = await signClaims(
        {
          aud: audiences,
          exp: now + (isExtended ? EXTENDED_SECONDS : seconds),
          iat: now,
          iss: issuer,
          jti: clock.uuid(),
          [privateClaim(dialect)]: {
            namespace,
            ...(bound.node === undefined ? {} : { node: claim(bound.node) }),
            ...(bound.pod === undefined ? {} : { pod: claim(bound.pod) }),
            ...(bound.secret === undefined ? {} : { secret: claim(bound.secret) }),
            serviceaccount: claim(named(account)),
            ...(isExtended ? { warnafter: now + seconds } : {}),
          },
          nbf: now,
          sub: serviceAccountUserName(namespace, name),
        },
        signingKey,
      )
      return {
        ...request,
        metadata: {
          ...request.metadata,
          name,
          namespace,
          creationTimestamp: timestamp(now * 1000),
        },
        spec: {
          ...spec,
          audiences,
          expirationSeconds: seconds,
          boundObjectRef: spec.boundObjectRef ?? null,
        },
        status: { token, expirationTimestamp: timestamp((now + seconds) * 1000) },
      }
    },
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
