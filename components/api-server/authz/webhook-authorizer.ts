/** The mode Webhook: a remote service decides by SubjectAccessReview (spec: "Webhook authorization contract"). */
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { CelProgram } from '../../cel/cel.ts'
import { ExpiringCache } from '../../component-base/expiring-cache.ts'
import { WebhookError, type WebhookClient } from '../egress/webhook-client.ts'
import type { AuthorizationAttributes, UserInfo } from '../request/request.ts'
import { asBeta, requestVariable, reviewSpecOf } from './access-review.ts'
import type { Authorizer, Decision } from './authorizer.ts'

const mostKnown = 8192
/** Longer keys are not cached: a client must not fill the cache (upstream: maxControlledAttrCacheSize). */
const longestKnownKey = 10_000

export interface WebhookAuthorizerOptions {
  readonly name: string
  readonly client: WebhookClient
  /** `authorization.k8s.io/v1`, or its beta. */
  readonly apiVersion: string
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  /** The decision when a call or a match condition fails. */
  readonly failurePolicy: 'NoOpinion' | 'Deny'
  readonly matchConditions: readonly CelProgram[]
  readonly withSelectors: boolean
  readonly clock: Clock
  readonly log: Log
}

/** A decision without a call, and why. */
interface Unasked {
  readonly decision: Decision
  readonly why: string
}

type ReviewSpec = Readonly<Record<string, unknown>>
/** The decision when a call or a match condition fails, which is logged. */
type Fail = (why: string) => Decision

const unasked: Decision = { decision: 'no-opinion', reason: '' }

/** Keys of requests: two have the same key when their reviews are the same. */
function reviewKeys(withSelectors: boolean): (asked: AuthorizationAttributes) => string {
  // Users are kept per connection or token, so most requests find their user's text here.
  const userTexts = new WeakMap<UserInfo, string>()
  return (asked) => {
    const { user, fieldSelector, labelSelector } = asked
    let userText = userTexts.get(user)
    if (userText === undefined) {
      userText = JSON.stringify([user.name, user.uid, user.groups, user.extra])
      userTexts.set(user, userText)
    }
    const { verb, group, version, resource, subresource, namespace, name } = asked
    const target = asked.isResourceRequest
      ? [verb, group, version, resource, subresource, namespace, name]
      : [verb, asked.path]
    const hasSelectors =
      withSelectors &&
      asked.isResourceRequest &&
      (fieldSelector !== undefined || labelSelector !== undefined)
    const selectors = hasSelectors ? JSON.stringify([fieldSelector, labelSelector]) : ''
    return userText + JSON.stringify(target) + selectors
  }
}

function failureDecision({ name, failurePolicy, log }: WebhookAuthorizerOptions): Fail {
  return (why) => {
    log.warn('authorization webhook failed', { name, why })
    return failurePolicy === 'Deny'
      ? { decision: 'deny', reason: '', evaluationError: why }
      : { decision: 'no-opinion', reason: '', evaluationError: why }
  }
}

/** Evaluates match conditions. Undefined: call. A false condition beats an error in another one. */
function matchesRequest(
  conditions: readonly CelProgram[],
  fail: Fail,
): (spec: ReviewSpec) => Unasked | undefined {
  return (spec) => {
    if (conditions.length === 0) return undefined
    const request = requestVariable(spec)
    let fault: string | undefined
    for (const condition of conditions) {
      try {
        if (condition.evaluate({ request }) !== true) {
          return { decision: unasked, why: `not asked: ${condition.expression} is false` }
        }
      } catch (error) {
        fault ??= `expression '${condition.expression}' resulted in error: ${(error as Error).message}`
      }
    }
    if (fault === undefined) return undefined
    return { decision: fail(fault), why: 'not asked: a match condition failed' }
  }
}

/** The remote service with a cache of its answers. Requests with the same key share one call. */
function cachedRemote(options: WebhookAuthorizerOptions, fail: Fail) {
  const { client, apiVersion, authorizedTtlMs, unauthorizedTtlMs, clock } = options
  const known = new ExpiringCache<Decision>({ most: mostKnown, clock })
  const asking = new Map<string, Promise<Decision>>()

  async function review(spec: ReviewSpec, key: string): Promise<Decision> {
    try {
      const { allowed, denied, reason } = await client.review({
        apiVersion,
        kind: 'SubjectAccessReview',
        spec: apiVersion.endsWith('/v1beta1') ? asBeta(spec) : spec,
      })
      const text = typeof reason === 'string' ? reason : ''
      if (allowed === true && denied === true) {
        return fail('webhook subject access review returned both allow and deny response')
      }
      const decision: Decision =
        allowed === true
          ? { decision: 'allow', reason: text }
          : { decision: denied === true ? 'deny' : 'no-opinion', reason: text }
      if (key.length <= longestKnownKey) {
        known.set(key, decision, allowed === true ? authorizedTtlMs : unauthorizedTtlMs)
      }
      return decision
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error
      return fail(error.message)
    }
  }

  return {
    known: (key: string) => known.get(key),
    ask(spec: ReviewSpec, key: string): Promise<Decision> {
      let answer = asking.get(key)
      if (answer === undefined) {
        answer = review(spec, key).finally(() => asking.delete(key))
        asking.set(key, answer)
      }
      return answer
    },
  }
}

export function webhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { name, client, matchConditions, withSelectors } = options
  const fail = failureDecision(options)
  const keyOf = reviewKeys(withSelectors)
  const byConditions = matchesRequest(matchConditions, fail)
  const remote = cachedRemote(options, fail)

  return {
    name,
    authorize(asked) {
      const key = keyOf(asked)
      // The same request gets the same result from conditions, but an error in them must not be cached.
      const before = matchConditions.length === 0 ? remote.known(key) : undefined
      if (before !== undefined) return before
      const spec = reviewSpecOf(asked, options)
      const decided = byConditions(spec)
      if (decided !== undefined) return decided.decision
      return remote.known(key) ?? remote.ask(spec, key)
    },
    rulesFor: () => ({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      errors: ['webhook authorizer does not support user rule resolution'],
    }),
    async explain(asked) {
      const spec = reviewSpecOf(asked, options)
      const decided = byConditions(spec)
      if (decided !== undefined) {
        return { decision: decided.decision, detail: { call: decided.why } }
      }
      const key = keyOf(asked)
      const before = remote.known(key)
      if (before !== undefined) {
        return { decision: before, detail: { call: 'remembered from an earlier answer' } }
      }
      const decision = await remote.ask(spec, key)
      const isFailed = decision.evaluationError !== undefined
      return { decision, detail: { call: isFailed ? 'asked, in vain' : 'asked' } }
    },
    close: () => client.close(),
  }
}
