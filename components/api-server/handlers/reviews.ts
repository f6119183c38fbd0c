/** Reviews: virtual objects that are answered and never stored. */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type {
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
  TokenReviewSpec,
} from '../../api/generated/types.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { FieldError } from '../../machinery/objects/status-error.ts'
import { badRequest, invalid, joinedErrors } from '../../machinery/objects/status-error.ts'
import type { AuthenticationResult } from '../authn/authenticator.ts'
import { authenticatedGroup } from '../authn/union.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { UserInfo } from '../request/request.ts'
import type { ReviewedAccess } from './review-attributes.ts'
import { attributesOfReview, reviewFaults } from './review-attributes.ts'

export interface ReviewOptions {
  readonly authorizer: Authorizer
  /** Authenticates a bearer token. Empty `audiences` mean the server's own. */
  readonly authenticateToken: (
    token: string,
    audiences: readonly string[],
  ) => AuthenticationResult | Promise<AuthenticationResult>
  readonly apiAudiences: readonly string[]
  readonly dialect: Dialect
}

/** Each takes a decoded review and returns it with its status. They throw a StatusError for an invalid review. */
export interface Reviews {
  subjectAccess(review: KubeObject): Promise<KubeObject>
  localSubjectAccess(review: KubeObject, namespace: string): Promise<KubeObject>
  selfSubjectAccess(review: KubeObject, user: UserInfo): Promise<KubeObject>
  selfSubjectRules(review: KubeObject, user: UserInfo): KubeObject
  selfSubject(review: KubeObject, user: UserInfo): KubeObject
  token(review: KubeObject): Promise<KubeObject>
}

/** A user as reviews show one, without empty fields. */
function userStatus(user: UserInfo): Record<string, unknown> {
  const { name, uid, groups, extra } = user
  return {
    username: name,
    ...(uid ? { uid } : {}),
    ...(groups.length > 0 ? { groups } : {}),
    ...(extra && Object.keys(extra).length > 0 ? { extra } : {}),
  }
}

function withStatus(review: KubeObject, status: unknown): KubeObject {
  return { ...review, metadata: { ...review.metadata, creationTimestamp: null }, status }
}

/** v1beta1 calls the groups `group`. */
type SubjectSpec = SubjectAccessReviewSpec & { readonly group?: string[] }

const groupsOf = (spec: SubjectSpec): string[] => spec.groups ?? spec.group ?? []

/** The user that a review asks about. */
export function subjectOf(spec: SubjectSpec): UserInfo {
  return {
    name: spec.user ?? '',
    groups: groupsOf(spec),
    ...(spec.uid ? { uid: spec.uid } : {}),
    ...(spec.extra ? { extra: spec.extra } : {}),
  }
}

/** The faults of a review that names its subject. */
export function subjectFaults(spec: SubjectSpec): FieldError[] {
  const detail = 'at least one of user or group must be specified'
  return [
    ...reviewFaults(spec),
    ...(spec.user || groupsOf(spec).length > 0
      ? []
      : [invalidValue('spec.user', { value: spec.user ?? '', detail })]),
  ]
}

/** Throws a 422 that lists the faults, if there are any. */
export function refuseFaults(faults: readonly FieldError[], dialect: Dialect): void {
  if (faults.length === 0) return
  // Upstream's error names the group but no kind.
  const group = apiGroup(dialect, 'authorization')
  throw invalid({ group, kind: '' }, '', faults)
}

async function judge(
  spec: ReviewedAccess,
  user: UserInfo,
  authorizer: Authorizer,
): Promise<SubjectAccessReviewStatus> {
  const { attributes, errors } = attributesOfReview(spec, user)
  const decision = await authorizer.authorize(attributes)
  const evaluationError = [decision.evaluationError ?? '', ...errors]
    .filter((text) => text !== '')
    .join('; ')
  return {
    allowed: decision.decision === 'allow',
    ...(decision.decision === 'deny' ? { denied: true } : {}),
    ...(decision.reason === '' ? {} : { reason: decision.reason }),
    ...(evaluationError === '' ? {} : { evaluationError }),
  }
}

function localSubjectFaults(spec: SubjectSpec, namespace: string): FieldError[] {
  const faults = subjectFaults(spec)
  const asked = spec.resourceAttributes?.namespace ?? ''
  if (spec.resourceAttributes && asked !== namespace) {
    const bad = { value: asked, detail: 'must match metadata.namespace' }
    faults.push(invalidValue('spec.resourceAttributes.namespace', bad))
  }
  if (spec.nonResourceAttributes) {
    const bad = { value: null, detail: 'disallowed on this kind of request' }
    faults.push(invalidValue('spec.nonResourceAttributes', bad))
  }
  return faults
}

function rulesStatus(authorizer: Authorizer, user: UserInfo, namespace: string): unknown {
  const found = authorizer.rulesFor?.(user, namespace)
  const errors = found?.errors ?? []
  return {
    resourceRules: found?.resourceRules ?? [],
    nonResourceRules: found?.nonResourceRules ?? [],
    incomplete: found?.incomplete ?? true,
    ...(errors.length === 0 ? {} : { evaluationError: joinedErrors(errors) }),
  }
}

async function tokenStatus(
  spec: TokenReviewSpec,
  { authenticateToken, apiAudiences }: ReviewOptions,
): Promise<unknown> {
  if (!spec.token) throw badRequest('token is required for TokenReview in authentication')
  const result = await authenticateToken(spec.token, spec.audiences ?? [])
  if (result.kind !== 'user') {
    return { user: {}, error: result.kind === 'failed' ? result.why : 'invalid bearer token' }
  }
  const { user } = result
  const groups = [...new Set([...user.groups, authenticatedGroup])]
  return {
    authenticated: true,
    user: userStatus({ ...user, groups }),
    audiences: result.audiences ?? apiAudiences,
  }
}

export function createReviews(options: ReviewOptions): Reviews {
  const { authorizer, dialect } = options
  return {
    async subjectAccess(review) {
      const spec = (review['spec'] ?? {}) as SubjectSpec
      refuseFaults(subjectFaults(spec), dialect)
      return withStatus(review, await judge(spec, subjectOf(spec), authorizer))
    },
    async localSubjectAccess(review, namespace) {
      const spec = (review['spec'] ?? {}) as SubjectSpec
      refuseFaults(localSubjectFaults(spec, namespace), dialect)
      return withStatus(review, await judge(spec, subjectOf(spec), authorizer))
    },
    async selfSubjectAccess(review, user) {
      const spec = (review['spec'] ?? {}) as ReviewedAccess
      refuseFaults(reviewFaults(spec), dialect)
      return withStatus(review, await judge(spec, user, authorizer))
    },
    selfSubjectRules(review, user) {
      const namespace = String(review['spec']?.namespace ?? '')
      if (namespace === '') throw badRequest('no namespace on request')
      return withStatus({ ...review, spec: {} }, rulesStatus(authorizer, user, namespace))
    },
    selfSubject: (review, user) => withStatus(review, { userInfo: userStatus(user) }),
    async token(review) {
      const spec = (review['spec'] ?? {}) as TokenReviewSpec
      return withStatus(review, await tokenStatus(spec, options))
    },
  }
}
