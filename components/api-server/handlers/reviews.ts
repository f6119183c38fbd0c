/** Reviews: virtual objects that are answered and never stored (spec: "Review endpoints"). */
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
  /** What knows a bearer token; `audiences` empty means the server's own. */
  readonly authenticateToken: (
    token: string,
    audiences: readonly string[],
  ) => AuthenticationResult | Promise<AuthenticationResult>
  readonly apiAudiences: readonly string[]
  readonly dialect: Dialect
}

/** Each takes a review as decoded, and returns it with its status. They throw StatusErrors for bad ones. */
export interface Reviews {
  subjectAccess(review: KubeObject): Promise<KubeObject>
  localSubjectAccess(review: KubeObject, namespace: string): Promise<KubeObject>
  selfSubjectAccess(review: KubeObject, user: UserInfo): Promise<KubeObject>
  selfSubjectRules(review: KubeObject, user: UserInfo): KubeObject
  selfSubject(review: KubeObject, user: UserInfo): KubeObject
  token(review: KubeObject): Promise<KubeObject>
}

/** How reviews show a user; what is empty is left out. */
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

/** The groups are `group` in v1beta1. */
type SubjectSpec = SubjectAccessReviewSpec & { readonly group?: string[] }

const groupsOf = (spec: SubjectSpec): string[] => spec.groups ?? spec.group ?? []

/** Whom a review asks about. */
export function subjectOf(spec: SubjectSpec): UserInfo {
  return {
    name: spec.user ?? '',
    groups: groupsOf(spec),
    ...(spec.uid ? { uid: spec.uid } : {}),
    ...(spec.extra ? { extra: spec.extra } : {}),
  }
}

/** What is wrong with a review that names its subject. */
export function subjectFaults(spec: SubjectSpec): FieldError[] {
  const detail = 'at least one of user or group must be specified'
  return [
    ...reviewFaults(spec),
    ...(spec.user || groupsOf(spec).length > 0
      ? []
      : [invalidValue('spec.user', { value: spec.user ?? '', detail })]),
  ]
}

/** Throws a 422 that names the faults, if there are any. */
export function refuseFaults(faults: readonly FieldError[], dialect: Dialect): void {
  if (faults.length === 0) return
  // Upstream's error names the group but no kind.
  const group = apiGroup(dialect, 'authorization')
  throw invalid({ group, kind: '' }, '', faults)
}

export function createReviews(options: ReviewOptions): Reviews {
  const { authorizer, authenticateToken, apiAudiences, dialect } = options
  const refuse = (faults: readonly FieldError[]): void => refuseFaults(faults, dialect)

  async function judge(spec: ReviewedAccess, user: UserInfo): Promise<SubjectAccessReviewStatus> {
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

  return {
    async subjectAccess(review) {
      const spec = (review['spec'] ?? {}) as SubjectSpec
      refuse(subjectFaults(spec))
      return withStatus(review, await judge(spec, subjectOf(spec)))
    },

    async localSubjectAccess(review, namespace) {
      const spec = (review['spec'] ?? {}) as SubjectSpec
      const asked = spec.resourceAttributes?.namespace ?? ''
      const faults = subjectFaults(spec)
      if (spec.resourceAttributes && asked !== namespace) {
        const bad = { value: asked, detail: 'must match metadata.namespace' }
        faults.push(invalidValue('spec.resourceAttributes.namespace', bad))
      }
      if (spec.nonResourceAttributes) {
        const bad = { value: null, detail: 'disallowed on this kind of request' }
        faults.push(invalidValue('spec.nonResourceAttributes', bad))
      }
      refuse(faults)
      return withStatus(review, await judge(spec, subjectOf(spec)))
    },

    async selfSubjectAccess(review, user) {
      const spec = (review['spec'] ?? {}) as ReviewedAccess
      refuse(reviewFaults(spec))
      return withStatus(review, await judge(spec, user))
    },

    selfSubjectRules(review, user) {
      const namespace = String(review['spec']?.namespace ?? '')
      if (namespace === '') throw badRequest('no namespace on request')
      const found = authorizer.rulesFor?.(user, namespace)
      const errors = found?.errors ?? []
      const status = {
        resourceRules: found?.resourceRules ?? [],
        nonResourceRules: found?.nonResourceRules ?? [],
        incomplete: found?.incomplete ?? true,
        ...(errors.length === 0 ? {} : { evaluationError: joinedErrors(errors) }),
      }
      return withStatus({ ...review, spec: {} }, status)
    },

    selfSubject(review, user) {
      return withStatus(review, { userInfo: userStatus(user) })
    },

    async token(review) {
      const spec = (review['spec'] ?? {}) as TokenReviewSpec
      if (!spec.token) throw badRequest('token is required for TokenReview in authentication')
      const result = await authenticateToken(spec.token, spec.audiences ?? [])
      if (result.kind !== 'user') {
        const error = result.kind === 'failed' ? result.why : 'invalid bearer token'
        return withStatus(review, { user: {}, error })
      }
      const { user } = result
      const groups = [...new Set([...user.groups, authenticatedGroup])]
      return withStatus(review, {
        authenticated: true,
        user: userStatus({ ...user, groups }),
        audiences: result.audiences ?? apiAudiences,
      })
    },
  }
}
