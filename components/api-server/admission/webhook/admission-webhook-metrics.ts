/** Metrics of calls to admission webhooks (upstream: apiserver pkg/admission/metrics). */
import type { Metrics } from '../../../component-base/metrics.ts'

/** Upper bounds in seconds, upstream's. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25]
/** Larger codes are counted as this one. */
const highestCode = 600

export interface WebhookOutcome {
  readonly name: string
  readonly type: 'admit' | 'validating'
  readonly operation: string
  readonly seconds: number
  readonly isRejected: boolean
  /** The cause of a rejection. */
  readonly errorType: 'no_error' | 'calling_webhook_error' | 'apiserver_internal_error'
  /** 200 if allowed, else the HTTP status of the rejection or of the failed call; 0 without one. */
  readonly code: number
}

export interface AdmissionWebhookMetrics {
  called(outcome: WebhookOutcome): void
  /** The failure policy ignored a failed call. */
  failedOpen(name: string, type: WebhookOutcome['type']): void
  /** Match conditions excluded a webhook. */
  excluded(name: string, type: WebhookOutcome['type'], operation: string): void
}

export function admissionWebhookMetrics(metrics: Metrics): AdmissionWebhookMetrics {
  const durations = metrics.histogram({
    name: 'apiserver_admission_webhook_admission_duration_seconds',
    help: 'Time that a call to an admission webhook took, by name, operation, type and whether it refused, in seconds.',
    stability: 'STABLE',
    labels: ['name', 'operation', 'rejected', 'type'],
    buckets,
  })
  const requests = metrics.counter({
    name: 'apiserver_admission_webhook_request_total',
    help: 'Calls to admission webhooks by name, type, operation, code and whether they refused.',
    labels: ['name', 'type', 'operation', 'code', 'rejected'],
  })
  const rejections = metrics.counter({
    name: 'apiserver_admission_webhook_rejection_count',
    help: 'Requests that admission webhooks rejected, by name, type, operation, error and code.',
    labels: ['name', 'type', 'operation', 'error_type', 'rejection_code'],
  })
  const openings = metrics.counter({
    name: 'apiserver_admission_webhook_fail_open_count',
    help: 'Failed calls to admission webhooks that did not stop the request (failurePolicy Ignore), by name and type.',
    labels: ['name', 'type'],
  })
  const exclusions = metrics.counter({
    name: 'apiserver_admission_match_condition_exclusions_total',
    help: 'Requests that match conditions excluded from admission, by name, kind, type and operation.',
    labels: ['name', 'kind', 'type', 'operation'],
  })
  return {
    called({ name, type, operation, seconds, isRejected, errorType, code }) {
      const rejected = String(isRejected)
      const shown = String(Math.min(code, highestCode))
      durations.with(name, operation, rejected, type).observe(seconds)
      requests.with(name, type, operation, shown, rejected).inc()
      if (isRejected) rejections.with(name, type, operation, errorType, shown).inc()
    },
    failedOpen: (name, type) => openings.with(name, type).inc(),
    excluded: (name, type, operation) => exclusions.with(name, 'webhook', type, operation).inc(),
  }
}
