/** WebhookCall: one webhook called about one request: what it is sent, and the verdict it returns. */
import type { Dialect } from '../../../api/dialect.ts'
import type { Resources } from '../../../api/resources.ts'
import type { Clock } from '../../../component-base/clock.ts'
import type { Log } from '../../../component-base/log.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { badRequest } from '../../../machinery/objects/status-error.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import {
  WebhookCallError,
  type CredentialsFor,
  type ReviewSender,
  type WebhookEgress,
} from '../../egress/review-sender.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionRequest } from '../admission.ts'
import { reviewApiVersion, reviewRequestOf, verdictOf, type Verdict } from './admission-review.ts'
import type { AdmissionWebhookMetrics } from './admission-webhook-metrics.ts'
import { draftInVersionOf, inVersionOf } from './reviewed-request.ts'
import type { Webhook } from './webhook.ts'

export interface WebhookDependencies {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly resources: Resources
  /** Every served resource: its versions match as equivalents. */
  readonly served: readonly Resource[]
  readonly clock: Clock
  readonly egress: WebhookEgress
  /** Default: webhooks see no credentials. */
  readonly credentials?: CredentialsFor | undefined
  readonly log: Log
  readonly metrics: AdmissionWebhookMetrics
  /** Answers the access checks of match conditions. */
  readonly authorizer: Authorizer
}

/** A webhook to call, and the version in which it gets the request. */
export interface Call {
  readonly webhook: Webhook
  /** Among all webhooks of its phase. */
  readonly index: number
  readonly matched: Resource
}

/** Mutating or validating admission, with what its calls need. */
export interface WebhookPhase extends WebhookDependencies {
  readonly phase: 'mutating' | 'validating'
}

export interface Answer {
  readonly verdict: Verdict
  /** The object as it was sent, to patch. */
  readonly object: KubeObject | undefined
}

/** The review of a call, and the object in the version that the webhook gets. */
export async function reviewOf(call: Call, at: { phase: WebhookPhase; request: AdmissionRequest }) {
  const { matched } = call
  const { phase, request } = at
  const { object, isNameHidden } =
    phase.phase === 'mutating'
      ? await draftInVersionOf(matched, request)
      : { object: await inVersionOf(matched, request, request.object), isNameHidden: false }
  const old = await inVersionOf(matched, request, request.old)
  const uid = phase.clock.uuid()
  const review = reviewRequestOf(
    request,
    { matched, object, old, isNameHidden },
    { uid, dialect: phase.dialect },
  )
  return { uid, review, object }
}

/** Sends the review. Rejects with WebhookCallError when no valid verdict came, with 400 for dry runs that it cannot take. */
export async function callWebhook(
  call: Call,
  at: { phase: WebhookPhase; request: AdmissionRequest; sender: ReviewSender },
): Promise<Answer> {
  const { phase, request, sender } = at
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
  const { uid, review, object } = await reviewOf(call, { phase, request })
  const apiVersion = reviewApiVersion(phase.dialect, reviewVersion)
  const answer = await sender.send(webhook, {
    kind: 'AdmissionReview',
    apiVersion,
    request: review,
  })
  try {
    const isMutating = phase.phase === 'mutating'
    return { verdict: verdictOf(answer, { uid, apiVersion, isMutating }), object }
  } catch (error) {
    const why = `received invalid webhook response: ${(error as Error).message}`
    throw new WebhookCallError(why, { cause: error })
  }
}
