/** Authorizer: one module's opinion on a request. Modules are asked in order; the first opinion is final; none is a denial. */
import type { OpinionDetail } from '../../api/explanations.ts'
import type { AuthorizationAttributes } from '../request/request.ts'

export interface Decision {
  readonly decision: 'allow' | 'deny' | 'no-opinion'
  /** Shown in the 403 message, in reviews and in the audit record. Never a secret. */
  readonly reason: string
  /** Set when the module could not evaluate all it should have (reviews show it). */
  readonly evaluationError?: string
}

export interface ResourceRule {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
}

export interface NonResourceRule {
  readonly verbs: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

export interface UserRules {
  readonly resourceRules: readonly ResourceRule[]
  readonly nonResourceRules: readonly NonResourceRule[]
  /** The module cannot list them. */
  readonly incomplete: boolean
  /** Why there may be more, or fewer than somebody meant; default none. */
  readonly errors?: readonly string[]
}

/** An opinion with what it rests on, for people who ask why. Nothing in it is secret. */
export interface ExplainedDecision {
  readonly decision: Decision
  readonly detail: OpinionDetail
}

export interface Authorizer {
  readonly name: string
  /** Synchronous where it can be: this runs on every request. */
  authorize(attributes: AuthorizationAttributes): Decision | Promise<Decision>
  /** The same opinion, explained; without it the opinion says all there is. Not measured: nobody waits for it. */
  explain?(attributes: AuthorizationAttributes): ExplainedDecision | Promise<ExplainedDecision>
  /** Nobody new asks it any more: lets go of what it holds open, once those who did ask are answered. */
  close?(): void
  /** For SelfSubjectRulesReview: the rules that hold for the user in the namespace. */
  rulesFor?(user: AuthorizationAttributes['user'], namespace: string): UserRules
}
