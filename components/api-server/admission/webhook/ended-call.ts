/** EndedCall: what a call means for the request: passed, rejected or failed, with warnings, annotations and metrics. */
import type { Reason, StatusDetails } from '../../../machinery/objects/status-error.ts'
import { WebhookCallError } from '../../egress/review-sender.ts'
import { WebhookFault, webhookFault } from '../../request/webhook-fault.ts'
import type { AdmissionRequest } from '../admission.ts'
import { annotate } from '../annotate.ts'
import { isRecord, type Verdict } from './admission-review.ts'
import type { WebhookOutcome } from './admission-webhook-metrics.ts'
import type { Call, WebhookPhase } from './webhook-call.ts'

/** The webhook's rejection, in upstream's words. A code that is not an error becomes 400. */
function rejectionOf(name: string, result: Verdict['result']): WebhookFault {
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

/** `type` in metrics. */
export function metricType(phase: WebhookPhase['phase']): WebhookOutcome['type'] {
  return phase === 'mutating' ? 'admit' : 'validating'
}

/** One call that has ended. */
export interface EndedCall {
  readonly phase: WebhookPhase
  readonly call: Call
  readonly request: AdmissionRequest
  readonly round: number
  readonly startedMs: number
}

function observe(
  { phase, call, request, startedMs }: EndedCall,
  outcome: Pick<WebhookOutcome, 'isRejected' | 'errorType' | 'code'>,
): void {
  phase.metrics.called({
    name: call.webhook.name,
    type: metricType(phase.phase),
    operation: request.operation,
    seconds: (phase.clock.now() - startedMs) / 1000,
    ...outcome,
  })
}

/** Applies a verdict to the request. Throws the rejection. */
export function applyVerdict(ended: EndedCall, verdict: Verdict): void {
  const { call, request } = ended
  const { name } = call.webhook
  const { allowed, result, warnings, auditAnnotations } = verdict
  for (const [key, value] of Object.entries(auditAnnotations)) {
    annotate(request, `/${name}/${key}`, value)
  }
  request.warnings.push(...warnings)
  const error = allowed ? undefined : rejectionOf(name, result)
  const code = error?.code ?? 200
  observe(ended, { isRejected: !allowed, errorType: 'no_error', code })
  if (error !== undefined) throw error
}

/** Applies the failure policy to a failed call. Throws, unless the policy is Ignore and it was the call that failed. */
export function applyFailurePolicy(ended: EndedCall, error: unknown): void {
  const { phase, call, request, round } = ended
  const { webhook, index } = call
  if (!(error instanceof WebhookCallError)) {
    observe(ended, { isRejected: true, errorType: 'apiserver_internal_error', code: 0 })
    throw error
  }
  const { name, ignoresFailure } = webhook
  const errorType = 'calling_webhook_error'
  observe(ended, { isRejected: !ignoresFailure, errorType, code: error.code })
  const why = `failed calling webhook "${name}": ${error.message}`
  phase.log.warn(`admission: ${why}`, { open: ignoresFailure })
  if (!ignoresFailure) throw webhookFault(why, error)
  phase.metrics.failedOpen(name, metricType(phase.phase))
  const key = `failed-open.${phase.phase}.webhook.admission/round_${round}_index_${index}`
  annotate(request, key, name)
}
