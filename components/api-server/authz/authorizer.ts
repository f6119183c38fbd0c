/** Authorizer: one module's opinion on a request. The first allow or deny wins; without an opinion the request gets 403. */
import type { OpinionDetail } from '../../api/explanations.ts'
import type { AuthorizationAttributes } from '../request/request.ts'

export interface Decision {
  readonly decision: 'allow' | 'deny' | 'no-opinion'
  /** Shown in the 403 message, in reviews and in the audit record. Never a secret. */
  readonly reason: string
  /** Set when the evaluation failed in part; reviews show it. */
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
  /** Why the list may be wrong; default none. */
  readonly errors?: readonly string[]
}

/** An opinion with its reasons, for `skiff why`. It contains no secret. */
export interface ExplainedDecision {
  readonly decision: Decision
  readonly detail: OpinionDetail
}

export interface Authorizer {
  readonly name: string
  /** Synchronous where possible, since it runs on every request. */
  authorize(attributes: AuthorizationAttributes): Decision | Promise<Decision>
  /** The same opinion with its reasons; absent if the opinion has all of them. It may be slow: only `skiff why` calls it. */
  explain?(attributes: AuthorizationAttributes): ExplainedDecision | Promise<ExplainedDecision>
  /** No call follows: releases connections once the calls under way have ended. */
  close?(): void
  /** For SelfSubjectRulesReview: the rules that hold for the user in the namespace. */
  rulesFor?(user: AuthorizationAttributes['user'], namespace: string): UserRules
}
