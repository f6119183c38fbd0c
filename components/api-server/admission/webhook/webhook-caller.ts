/** WebhookCaller: the webhooks of a phase, which of them match a request, and calls of those. */
import { inTurns } from '../../../component-base/next-turn.ts'
import { forbidden } from '../../../machinery/objects/status-error.ts'
import { admissionValues } from '../../expressions/admission-variables.ts'
import { compileConditions, type Conditions } from '../../expressions/conditions.ts'
import { createReviewSender } from '../../egress/review-sender.ts'
import { refusedBy } from '../../request/refusal.ts'
import type { AdmissionRequest } from '../admission.ts'
import { exemptPrefixes } from '../exempt-kinds.ts'
import { accessChecksOf } from '../expressions/access-checks.ts'
import { matchWebhook } from './matching.ts'
import {
  callWebhook,
  reviewOf,
  type Answer,
  type Call,
  type WebhookDependencies,
  type WebhookPhase,
} from './webhook-call.ts'
import { applyFailurePolicy, applyVerdict, metricType } from './ended-call.ts'
import { webhooksOf, type Webhook } from './webhook.ts'

export interface WebhookCaller {
  /** All webhooks of the phase, in order; an empty list, at no cost, if none can be for this request. */
  webhooks(request: AdmissionRequest): readonly Webhook[]
  /** The call to make; undefined if the webhook does not match. Rejects when its match conditions fail. */
  callFor(webhook: Webhook, request: AdmissionRequest, index: number): Promise<Call | undefined>
  /** The answer of a webhook that allows; undefined when its failure policy ignores a failed call. Rejects with the rejection. */
  call(call: Call, request: AdmissionRequest, round: number): Promise<Answer | undefined>
}

/** The webhooks as they are configured, read again after a change. `onRead` gets each new list. */
function configuredWebhooks(
  { phase, reader, resources }: WebhookPhase,
  onRead: (webhooks: readonly Webhook[]) => void,
): () => readonly Webhook[] {
  const configurations =
    phase === 'mutating'
      ? resources.mutatingWebhookConfigurations
      : resources.validatingWebhookConfigurations
  let known: readonly Webhook[] | undefined
  reader.onChange(configurations, () => (known = undefined))
  return () => {
    if (known === undefined) {
      known = webhooksOf(reader.list(configurations))
      onRead(known)
    }
    return known
  }
}

/** Evaluates match conditions, which are compiled once. Throws a 403 when they fail and the failure policy is Fail. */
function conditionCheck(
  phase: WebhookPhase,
): (call: Call, request: AdmissionRequest) => Promise<boolean> {
  const conditions = new WeakMap<Webhook, Promise<Conditions>>()
  return async (call, request) => {
    const { webhook } = call
    let compiled = conditions.get(webhook)
    if (compiled === undefined) {
      compiled = compileConditions(webhook.matchConditions)
      conditions.set(webhook, compiled)
    }
    const { review } = await reviewOf(call, { phase, request })
    const check = await compiled
    const checks = accessChecksOf(request, phase.authorizer)
    const values = { ...admissionValues(review), ...(await checks.values()) }
    const holds = await inTurns(check(values, checks.answer))
    if (holds === true) return true
    if (holds === false) {
      phase.metrics.excluded(webhook.name, metricType(phase.phase), request.operation)
      return false
    }
    if (webhook.ignoresFailure) return false
    throw forbidden(request.resource, request.name, holds.message)
  }
}

export function createWebhookCaller(
  phaseName: WebhookPhase['phase'],
  dependencies: WebhookDependencies,
): WebhookCaller {
  const phase: WebhookPhase = { ...dependencies, phase: phaseName }
  const { reader, resources, served, clock, egress, credentials } = phase
  const { namespaces, services, endpoints } = resources
  const exempt = exemptPrefixes(resources)
  const sender = createReviewSender({ reader, services, endpoints, clock, egress, credentials })
  const current = configuredWebhooks(phase, (webhooks) => sender.keep(webhooks))
  const conditionsHold = conditionCheck(phase)

  return {
    webhooks(request) {
      const webhooks = current()
      if (webhooks.length === 0 || exempt.has(request.resource.storagePrefix)) return []
      // A webhook that cannot be reached must not keep the server from starting.
      return request.context === undefined ? [] : webhooks
    },
    async callFor(webhook, request, index) {
      const matched = matchWebhook(webhook, request, { reader, namespaces, served })
      if (matched === undefined) return undefined
      const call = { webhook, index, matched }
      if (webhook.matchConditions.length === 0) return call
      try {
        return (await conditionsHold(call, request)) ? call : undefined
      } catch (error) {
        throw refusedBy(error, { webhook: webhook.name })
      }
    },
    async call(call, request, round) {
      const ended = { phase, call, request, round, startedMs: clock.now() }
      try {
        let answer: Answer
        try {
          answer = await callWebhook(call, { phase, request, sender })
        } catch (error) {
          applyFailurePolicy(ended, error)
          return undefined
        }
        applyVerdict(ended, answer.verdict)
        return answer
      } catch (error) {
        throw refusedBy(error, { webhook: call.webhook.name })
      }
    },
  }
}
