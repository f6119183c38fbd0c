/**
 * MutatingAdmissionWebhook: services that may change a write, called one after the other. Those with reinvocationPolicy
 * IfNeeded are called again when something changed the object after them (upstream: plugin/webhook/mutating).
 */
import { applyJsonPatch } from '../../../machinery/patch/json-patch.ts'
import { deepEqual, type KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import { annotate } from '../annotate.ts'
import { decodedPatch, replaceDraft } from '../draft-replacement.ts'
import { beginRound, endRound, isLeftOut, noteChange, roundsOf } from '../reinvocation.ts'
import type { Answer, Call, WebhookDependencies } from './webhook-call.ts'
import { createWebhookCaller, type WebhookCaller } from './webhook-caller.ts'
import { webhookFault } from '../../request/webhook-fault.ts'
import type { Webhook } from './webhook.ts'

function parsePatch(answer: Answer): unknown[] {
  const { patch } = answer.verdict
  if (patch === '') return []
  let operations: unknown
  try {
    operations = JSON.parse(Buffer.from(patch, 'base64').toString())
  } catch (error) {
    throw webhookFault((error as Error).message, error)
  }
  if (!Array.isArray(operations)) throw webhookFault('the patch is no list of operations')
  return operations
}

/** The sent object with the patch applied, decoded as a body would be. Throws a WebhookFault. */
function patchedObject(
  matched: Resource,
  request: AdmissionRequest,
  of: { object: KubeObject; operations: unknown[] },
): KubeObject {
  let value: unknown
  try {
    value = applyJsonPatch(of.object, of.operations)
  } catch (error) {
    throw webhookFault((error as Error).message, error)
  }
  const { object, problems } = decodedPatch(value, { matched, request, sent: of.object })
  if (problems.fatal !== undefined) throw webhookFault(problems.fatal)
  return object
}

/** Applies the webhook's patch to the draft. True when it changed something. */
async function applyPatch(
  request: AdmissionRequest,
  { call, answer }: { call: Call; answer: Answer },
): Promise<boolean> {
  const { matched, webhook } = call
  const operations = parsePatch(answer)
  if (operations.length === 0) return false
  const { object: sent } = answer
  if (request.object === undefined || sent === undefined) {
    throw webhookFault(
      `admission webhook "${webhook.name}" attempted to modify the object, which is not supported for this operation`,
    )
  }
  const object = patchedObject(matched, request, { object: sent, operations })
  if (deepEqual(object, sent)) return false
  await replaceDraft(request, { matched, object })
  return true
}

async function callOne(
  caller: WebhookCaller,
  { call, request }: { call: Call; request: AdmissionRequest },
): Promise<void> {
  const { webhook, index } = call
  const { name, configuration } = webhook
  const rounds = roundsOf(request)
  const { round, webhooks: own } = rounds
  const answer = await caller.call(call, request, round)
  if (answer === undefined) return
  const mutated = await applyPatch(request, { call, answer })
  annotate(
    request,
    `mutation.webhook.admission/round_${round}_index_${index}`,
    JSON.stringify({ configuration, webhook: name, mutated }),
  )
  if (mutated) {
    rounds.isRewritten = true
    noteChange(own, request)
  }
  if (webhook.isReinvocable) own.asked.add(webhook.id)
}

/** Calls the matching webhooks in order; in the second round only those that must see later changes. */
async function callInOrder(
  caller: WebhookCaller,
  { webhooks, request }: { webhooks: readonly Webhook[]; request: AdmissionRequest },
): Promise<void> {
  const { webhooks: own } = roundsOf(request)
  beginRound(own, request)
  for (const [index, webhook] of webhooks.entries()) {
    if (isLeftOut(own, request, webhook.id)) continue
    const call = await caller.callFor(webhook, request, index)
    if (call !== undefined) await callOne(caller, { call, request })
  }
  endRound(own, request)
}

export function mutatingWebhooks(dependencies: WebhookDependencies): AdmissionPlugin {
  const caller = createWebhookCaller('mutating', dependencies)
  return {
    name: 'MutatingAdmissionWebhook',
    mutate(request) {
      const webhooks = caller.webhooks(request)
      return webhooks.length === 0 ? undefined : callInOrder(caller, { webhooks, request })
    },
  }
}
