/** ValidatingAdmissionWebhook: services that may reject a write, all called at the same time. */
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import type { Call, WebhookDependencies } from './webhook-call.ts'
import { createWebhookCaller } from './webhook-caller.ts'
import type { Webhook } from './webhook.ts'

export function validatingWebhooks(dependencies: WebhookDependencies): AdmissionPlugin {
  const caller = createWebhookCaller('validating', dependencies)

  async function askAll(webhooks: readonly Webhook[], request: AdmissionRequest): Promise<void> {
    const calls: Call[] = []
    for (const [index, webhook] of webhooks.entries()) {
      const call = await caller.callFor(webhook, request, index)
      if (call !== undefined) calls.push(call)
    }
    const outcomes = await Promise.allSettled(calls.map((call) => caller.call(call, request, 0)))
    const refused = outcomes.find((outcome) => outcome.status === 'rejected')
    if (refused !== undefined) throw refused.reason
  }

  return {
    name: 'ValidatingAdmissionWebhook',
    validate(request) {
      const webhooks = caller.webhooks(request)
      return webhooks.length === 0 ? undefined : askAll(webhooks, request)
    },
  }
}
