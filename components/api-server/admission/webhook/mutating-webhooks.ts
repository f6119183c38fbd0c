/**
 * MutatingAdmissionWebhook: services that may change a write, called one after the other. Those with reinvocationPolicy
 * IfNeeded are called again when something changed the object after them (upstream: plugin/webhook/mutating).
 */
import { objectKindOf, versionOf } from '../../../api/object-kind.ts'
import { schemaOf } from '../../../api/schemas.ts'
import { decode } from '../../../machinery/schema/decode.ts'
import { applyJsonPatch } from '../../../machinery/patch/json-patch.ts'
import { deepEqual, type KubeObject } from '../../../machinery/objects/object.ts'
import type { StructSchema } from '../../../machinery/schema/schema.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { ensureNamespace } from '../../kinds/metadata.ts'
import { applyScale } from '../../kinds/autoscaling/scale.ts'
import type { AdmissionPlugin, AdmissionRequest, Rounds } from '../admission.ts'
import { isWhole, kindOf, type GroupVersionKind } from './reviewed-request.ts'
import { annotate } from '../annotate.ts'
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

function partSchema({ group, version, kind }: GroupVersionKind): StructSchema {
  return schemaOf(`${group.split('.')[0] || 'core'}/${version}.${kind}`)
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
  const { kind, apiVersion } = of.object
  const part = kindOf(matched, request.subresource)
  const { object, problems } =
    part.kind === matched.kind
      ? objectKindOf(matched).decode(value, { report: false })
      : decode(value, partSchema(part), { mode: 'ignore' })
  if (problems.fatal !== undefined) throw webhookFault(problems.fatal)
  object.metadata ??= {}
  return {
    ...object,
    ...(kind === undefined ? {} : { kind }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
  }
}

/** Makes `draft` equal to `object`, since the registry keeps the draft. */
function replaceWith(draft: KubeObject, object: KubeObject): void {
  for (const name of Object.keys(draft)) delete draft[name]
  Object.assign(draft, object)
}

/** A new object keeps what the server gave it, whatever webhooks change. */
function keepServerFields(
  request: AdmissionRequest,
  { object, draft }: { object: KubeObject; draft: KubeObject },
): void {
  const { resource, namespace, operation, subresource } = request
  if (operation !== 'CREATE' || subresource !== '') return
  const { uid, creationTimestamp, generation, name } = draft.metadata
  for (const [field, value] of Object.entries({ uid, creationTimestamp, generation })) {
    if (value === undefined) Reflect.deleteProperty(object.metadata, field)
    else Object.assign(object.metadata, { [field]: value })
  }
  if (request.isNameGenerated === true && name !== undefined) object.metadata.name ||= name
  ensureNamespace(object, namespace, resource.namespaced)
}

/** Applies the webhook's patch to the draft. True when it changed something. */
async function applyPatch(
  request: AdmissionRequest,
  { call, answer }: { call: Call; answer: Answer },
): Promise<boolean> {
  const { matched, webhook } = call
  const operations = parsePatch(answer)
  if (operations.length === 0) return false
  const { object: draft } = request
  const { object: sent } = answer
  if (draft === undefined || sent === undefined) {
    throw webhookFault(
      `admission webhook "${webhook.name}" attempted to modify the object, which is not supported for this operation`,
    )
  }
  const object = patchedObject(matched, request, { object: sent, operations })
  if (deepEqual(object, sent)) return false
  if (!isWhole(request)) {
    if (request.subresource === 'scale' && draft.kind !== 'Scale') {
      applyScale(draft, object, objectKindOf(request.resource).scale?.replicas)
    } else replaceWith(draft, object)
    return true
  }
  const kind = objectKindOf(request.resource)
  const next = await kind.convert(object, versionOf(matched), kind.workingVersion)
  keepServerFields(request, { object: next, draft })
  request.applyDefaults?.(next)
  replaceWith(draft, next)
  return true
}

async function callOne(
  caller: WebhookCaller,
  { call, request, rounds }: { call: Call; request: AdmissionRequest; rounds: Rounds },
): Promise<void> {
  const { webhook, index } = call
  const { name, configuration } = webhook
  const { round } = rounds
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
    rounds.isAnotherAsked = true
    for (const id of rounds.asked) rounds.again.add(id)
  }
  if (webhook.isReinvocable) rounds.asked.add(webhook.id)
}

/** Calls the matching webhooks in order; in the second round only those that must see later changes. */
async function callInOrder(
  caller: WebhookCaller,
  { webhooks, request }: { webhooks: readonly Webhook[]; request: AdmissionRequest },
): Promise<void> {
  const rounds = (request.rounds ??= {
    round: 0,
    isAnotherAsked: false,
    isRewritten: false,
    asked: new Set(),
    again: new Set(),
    last: undefined,
  })
  const isAgain = rounds.round > 0
  if (isAgain && !deepEqual(rounds.last, request.object)) {
    for (const id of rounds.asked) rounds.again.add(id)
  }
  for (const [index, webhook] of webhooks.entries()) {
    if (isAgain && !rounds.again.has(webhook.id)) continue
    const call = await caller.callFor(webhook, request, index)
    if (call !== undefined) await callOne(caller, { call, request, rounds })
  }
  if (!isAgain && rounds.isAnotherAsked) rounds.last = structuredClone(request.object)
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
