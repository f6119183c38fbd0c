/** WebhookCaller: one webhook asked about one request: whether it is for it, dry runs, the call, the refusal, what is recorded. */
import type { Dialect } from '../../../api/dialect.ts'
import type { Resources } from '../../../api/resources.ts'
import type { Clock } from '../../../component-base/clock.ts'
import type { Log } from '../../../component-base/log.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import {
  badRequest,
  forbidden,
  type Reason,
  type StatusDetails,
} from '../../../machinery/objects/status-error.ts'
import type { AdmissionWebhookMetrics, WebhookOutcome } from './admission-webhook-metrics.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionRequest } from '../admission.ts'
import { refusedBy } from '../../request/refusal.ts'
import {
  isRecord,
  reviewApiVersion,
  reviewRequestOf,
  verdictOf,
  type Verdict,
} from './admission-review.ts'
import { accessChecksOf } from '../expressions/access-checks.ts'
import { admissionValues } from '../../expressions/admission-variables.ts'
import { compileConditions, type Conditions } from '../../expressions/conditions.ts'
import { matchWebhook } from './matching.ts'
import { inVersionOf, withoutServerFields } from './reviewed-request.ts'
import {
  createReviewSender,
  WebhookCallError,
  type WebhookEgress,
} from '../../egress/review-sender.ts'
import { WebhookFault, webhookFault } from '../../request/webhook-fault.ts'
import { webhooksOf, type Webhook } from './webhook.ts'

export interface WebhookDependencies {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly resources: Resources
  /** What is served: the versions that match as equivalents. */
  readonly served: readonly Resource[]
  readonly clock: Clock
  readonly egress: WebhookEgress
  readonly log: Log
  readonly metrics: AdmissionWebhookMetrics
  /** Whom match conditions ask what else the user may do. */
  readonly authorizer: Authorizer
}

/** A webhook that is to be called, and the version it gets the request in. */
export interface Call {
  readonly webhook: Webhook
  /** Among all webhooks of its phase. */
  readonly index: number
  readonly matched: Resource
}

export interface WebhookCaller {
  /** All webhooks of the kind, in order; empty, at no cost, where there are none for this request. */
  webhooks(request: AdmissionRequest): readonly Webhook[]
  /** The call to make, or undefined. Throws what match conditions that fail amount to. */
  callFor(webhook: Webhook, request: AdmissionRequest, index: number): Promise<Call | undefined>
  /** The verdict of a webhook that allows; undefined when a failed call is let pass. Throws the refusal. */
  call(call: Call, request: AdmissionRequest, round: number): Promise<Answer | undefined>
}

export interface Answer {
  readonly verdict: Verdict
  /** The object as it was sent, to patch. */
  readonly object: KubeObject | undefined
}

/** The webhook's refusal, in upstream's words; a code that is no failure becomes 400. */
function refusal(name: string, result: Verdict['result']): WebhookFault {
  const text = (field: string): string => {
    const value = result?.[field]
    return typeof value === 'string' ? value : ''
  }
  const by = `admission webhook "${name}" denied the request`
  const why = text('message') || text('reason')
  const code = Number(result?.['code'] ?? 0)
  const details = result?.['details']
  return new WebhookFault(
    text('reason') as Reason,
    why === '' ? `${by} without explanation` : `${by}: ${why}`,
    {
      code: code >= 400 && code <= 599 ? Math.trunc(code) : 400,
      ...(isRecord(details) ? { details: details as StatusDetails } : {}),
    },
  )
}

/** Adds to the audit record unless something of that name is there. */
export function annotate(request: AdmissionRequest, name: string, value: string): void {
  const annotations = request.context?.annotations
  if (annotations !== undefined) annotations[name] ??= value
}

const exemptKinds = [
  'mutatingWebhookConfigurations',
  'validatingWebhookConfigurations',
  'validatingAdmissionPolicies',
  'validatingAdmissionPolicyBindings',
] as const

/** Where what decides about admission is stored: nothing is asked about it, for it must be repairable when it is broken. */
export function exemptPrefixes(resources: Resources): ReadonlySet<string> {
  return new Set(exemptKinds.map((kind) => resources[kind].storagePrefix))
}

export function createWebhookCaller(
  phase: 'mutating' | 'validating',
  dependencies: WebhookDependencies,
): WebhookCaller {
  const { reader, dialect, resources, served, clock, log, metrics, egress, authorizer } =
    dependencies
  const { namespaces, services, endpoints } = resources
  const type = phase === 'mutating' ? 'admit' : 'validating'
  const configurations =
    phase === 'mutating'
      ? resources.mutatingWebhookConfigurations
      : resources.validatingWebhookConfigurations
  const exempt = exemptPrefixes(resources)
  const sender = createReviewSender({ reader, services, endpoints, clock, egress })
  const conditions = new WeakMap<Webhook, Promise<Conditions>>()
  let known: readonly Webhook[] | undefined
  reader.onChange(configurations, () => (known = undefined))

  function current(): readonly Webhook[] {
    if (known === undefined) {
      known = webhooksOf(reader.list(configurations))
      sender.keep(known)
    }
    return known
  }

  async function reviewed(call: Call, request: AdmissionRequest) {
    const { matched } = call
    const isNew =
      phase === 'mutating' && request.operation === 'CREATE' && request.subresource === ''
    const isNameHidden = isNew && request.isNameGenerated === true
    const shown = await inVersionOf(matched, request, request.object)
    const object = isNew && shown !== undefined ? withoutServerFields(shown, isNameHidden) : shown
    const old = await inVersionOf(matched, request, request.old)
    const uid = clock.uuid()
    const review = reviewRequestOf(
      request,
      { matched, object, old, isNameHidden },
      { uid, dialect },
    )
    return { uid, review, object }
  }

  async function conditionsHold(call: Call, request: AdmissionRequest): Promise<boolean> {
    const { webhook } = call
    let compiled = conditions.get(webhook)
    if (compiled === undefined) {
      compiled = compileConditions(webhook.matchConditions)
      conditions.set(webhook, compiled)
    }
    const { review } = await reviewed(call, request)
    const check = await compiled
    const checks = accessChecksOf(request, authorizer)
    const values = { ...admissionValues(review), ...checks.values }
    const holds = await checks.settled(() => check(values, checks.answer))
    if (holds === true) return true
    if (holds === false) {
      metrics.excluded(webhook.name, type, request.operation)
      return false
    }
    if (webhook.ignoresFailure) return false
    throw forbidden(request.resource, request.name, holds.message)
  }

  async function verdict(call: Call, request: AdmissionRequest): Promise<Answer> {
    const { webhook } = call
    const { name, reviewVersion } = webhook
    if (request.dryRun && !webhook.isFitForDryRun) {
      throw badRequest(`admission webhook "${name}" does not support dry run`)
    }
    if (reviewVersion === undefined) {
      throw new WebhookCallError(
        'webhook does not accept known AdmissionReview versions (v1, v1beta1)',
      )
    }
    const { uid, review, object } = await reviewed(call, request)
    const apiVersion = reviewApiVersion(dialect, reviewVersion)
    const answer = await sender.send(webhook, {
      kind: 'AdmissionReview',
      apiVersion,
      request: review,
    })
    try {
      const isMutating = phase === 'mutating'
      return { verdict: verdictOf(answer, { uid, apiVersion, isMutating }), object }
    } catch (error) {
      const why = `received invalid webhook response: ${(error as Error).message}`
      throw new WebhookCallError(why, { cause: error })
    }
  }

  function record(
    webhook: Webhook,
    request: AdmissionRequest,
    of: Pick<WebhookOutcome, 'isRejected' | 'errorType' | 'code'> & { startedMs: number },
  ): void {
    const { operation } = request
    const { startedMs, ...outcome } = of
    const seconds = (clock.now() - startedMs) / 1000
    metrics.called({ name: webhook.name, type, operation, seconds, ...outcome })
  }

  function failed(
    error: unknown,
    at: { call: Call; request: AdmissionRequest; round: number; startedMs: number },
  ): void {
    const { call, request, round, startedMs } = at
    const { webhook, index } = call
    if (!(error instanceof WebhookCallError)) {
      const errorType = 'apiserver_internal_error'
      record(webhook, request, { isRejected: true, errorType, code: 0, startedMs })
      throw error
    }
    const { name, ignoresFailure } = webhook
    const errorType = 'calling_webhook_error'
    record(webhook, request, {
      isRejected: !ignoresFailure,
      errorType,
      code: error.code,
      startedMs,
    })
    const why = `failed calling webhook "${name}": ${error.message}`
    log.warn(`admission: ${why}`, { open: ignoresFailure })
    if (!ignoresFailure) throw webhookFault(why, error)
    metrics.failedOpen(name, type)
    annotate(request, `failed-open.${phase}.webhook.admission/round_${round}_index_${index}`, name)
  }

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
      const { webhook } = call
      const startedMs = clock.now()
      let answer: Answer
      try {
        answer = await verdict(call, request)
      } catch (error) {
        try {
          failed(error, { call, request, round, startedMs })
        } catch (refused) {
          throw refusedBy(refused, { webhook: webhook.name })
        }
        return undefined
      }
      const { allowed, result, warnings, auditAnnotations } = answer.verdict
      for (const [key, value] of Object.entries(auditAnnotations)) {
        annotate(request, `/${webhook.name}/${key}`, value)
      }
      request.warnings.push(...warnings)
      const error = allowed ? undefined : refusal(webhook.name, result)
      record(webhook, request, {
        isRejected: !allowed,
        errorType: 'no_error',
        code: error?.code ?? 200,
        startedMs,
      })
      if (error !== undefined) throw refusedBy(error, { webhook: webhook.name })
      return answer
    },
  }
}
