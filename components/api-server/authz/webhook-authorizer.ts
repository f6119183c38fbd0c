/** The mode Webhook: a remote service decides by SubjectAccessReview (spec: "Webhook authorization contract"). */
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { CelProgram } from '../cel/cel.ts'
import { ExpiringCache } from '../egress/expiring-cache.ts'
import { WebhookError, type WebhookClient } from '../egress/webhook-client.ts'
import type { AuthorizationAttributes, SelectorRequirement, UserInfo } from '../request/request.ts'
import type { Authorizer, Decision } from './authorizer.ts'

const mostKnown = 8192
/** Reviews larger than this are asked every time: a client must not fill the cache (upstream: maxControlledAttrCacheSize). */
const largestKnown = 10_000

function selectorOf(requirements: readonly SelectorRequirement[] | undefined) {
  if (requirements === undefined || requirements.length === 0) return undefined
  return {
    requirements: requirements.map(({ key, operator, values }) => ({
      key,
      operator,
      ...(values.length === 0 ? {} : { values }),
    })),
  }
}

/** Without what is empty, as JSON of upstream's types is. */
function filled(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  )
}

/** The spec of the review that asks about a request. */
export function reviewSpecOf(
  asked: AuthorizationAttributes,
  options: { withSelectors: boolean },
): Record<string, unknown> {
  const { user } = asked
  const { withSelectors } = options
  return filled({
    resourceAttributes: asked.isResourceRequest
      ? filled({
          namespace: asked.namespace,
          verb: asked.verb,
          group: asked.group,
          version: asked.version,
          resource: asked.resource,
          subresource: asked.subresource,
          name: asked.name,
          fieldSelector: withSelectors ? selectorOf(asked.fieldSelector) : undefined,
          labelSelector: withSelectors ? selectorOf(asked.labelSelector) : undefined,
        })
      : undefined,
    nonResourceAttributes: asked.isResourceRequest
      ? undefined
      : filled({ path: asked.path, verb: asked.verb }),
    user: user.name,
    groups: user.groups.length === 0 ? undefined : user.groups,
    extra: user.extra,
    uid: user.uid,
  })
}

/** What match conditions see as `request`: the same, with every plain field there. */
function requestVariable(spec: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const resource = spec['resourceAttributes'] as Record<string, unknown> | undefined
  const empty = {
    namespace: '',
    verb: '',
    group: '',
    version: '',
    resource: '',
    subresource: '',
    name: '',
  }
  return {
    user: '',
    uid: '',
    groups: [],
    extra: {},
    ...spec,
    ...(resource === undefined ? {} : { resourceAttributes: { ...empty, ...resource } }),
  }
}

export interface WebhookAuthorizerOptions {
  readonly name: string
  readonly client: WebhookClient
  /** `authorization.k8s.io/v1`, or its beta. */
  readonly apiVersion: string
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  /** What a call or condition that fails amounts to. */
  readonly failurePolicy: 'NoOpinion' | 'Deny'
  readonly matchConditions: readonly CelProgram[]
  readonly withSelectors: boolean
  readonly clock: Clock
  readonly log: Log
}

/** Decided without the remote, and why. */
interface Unasked {
  readonly decision: Decision
  readonly why: string
}

const unasked: Decision = { decision: 'no-opinion', reason: '' }

export function webhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { name, client, apiVersion, failurePolicy, matchConditions, withSelectors, clock, log } =
    options
  const known = new ExpiringCache<Decision>({ most: mostKnown, clock })
  const asking = new Map<string, Promise<Decision>>()

  // Users are kept per connection or token, so most requests find the text of theirs here.
  const userTexts = new WeakMap<UserInfo, string>()

  /** Two requests have the same key when their reviews are the same. */
  function keyOf(asked: AuthorizationAttributes): string {
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

  function failed(why: string): Decision {
    log.warn('authorization webhook failed', { name, why })
    return failurePolicy === 'Deny'
      ? { decision: 'deny', reason: '', evaluationError: why }
      : { decision: 'no-opinion', reason: '', evaluationError: why }
  }

  /** Undefined: call. A false condition beats an error in another one. */
  function byConditions(spec: Readonly<Record<string, unknown>>): Unasked | undefined {
    if (matchConditions.length === 0) return undefined
    const request = requestVariable(spec)
    let fault: string | undefined
    for (const condition of matchConditions) {
      try {
        if (condition.evaluate({ request }) !== true) {
          return { decision: unasked, why: `not asked: ${condition.expression} is false` }
        }
      } catch (error) {
        fault ??= `expression '${condition.expression}' resulted in error: ${(error as Error).message}`
      }
    }
    if (fault === undefined) return undefined
    return { decision: failed(fault), why: 'not asked: a match condition failed' }
  }

  async function ask(spec: Readonly<Record<string, unknown>>, key: string): Promise<Decision> {
    try {
      const status = await client.review({
        apiVersion,
        kind: 'SubjectAccessReview',
        spec: apiVersion.endsWith('/v1beta1') ? asBeta(spec) : spec,
      })
      const { allowed, denied, reason } = status
      const text = typeof reason === 'string' ? reason : ''
      if (allowed === true && denied === true) {
        return failed('webhook subject access review returned both allow and deny response')
      }
      const decision: Decision =
        allowed === true
          ? { decision: 'allow', reason: text }
          : { decision: denied === true ? 'deny' : 'no-opinion', reason: text }
      if (key.length <= largestKnown) {
        const ttlMs = allowed === true ? options.authorizedTtlMs : options.unauthorizedTtlMs
        known.set(key, decision, ttlMs)
      }
      return decision
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error
      return failed(error.message)
    }
  }

  function askOnce(
    spec: Readonly<Record<string, unknown>>,
    key: string,
  ): Decision | Promise<Decision> {
    let answer = asking.get(key)
    if (answer === undefined) {
      answer = ask(spec, key).finally(() => asking.delete(key))
      asking.set(key, answer)
    }
    return answer
  }

  return {
    name,
    authorize(asked) {
      const key = keyOf(asked)
      // Conditions say the same of the same question, but an error in them is not to be remembered.
      const before = matchConditions.length === 0 ? known.get(key) : undefined
      if (before !== undefined) return before
      const spec = reviewSpecOf(asked, options)
      const decided = byConditions(spec)
      if (decided !== undefined) return decided.decision
      return known.get(key) ?? askOnce(spec, key)
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
      const before = known.get(key)
      if (before !== undefined) {
        return { decision: before, detail: { call: 'remembered from an earlier answer' } }
      }
      const decision = await askOnce(spec, key)
      const isFailed = decision.evaluationError !== undefined
      return { decision, detail: { call: isFailed ? 'asked, in vain' : 'asked' } }
    },
    close: () => client.close(),
  }
}

/** v1beta1 spells `groups` as `group`. */
function asBeta(spec: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { groups, ...rest } = spec
  return groups === undefined ? rest : { ...rest, group: groups }
}
