/** pod-actions: POSTs below a Pod that do something instead of storing something: binding and eviction. */
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { badRequest, isStatusError } from '../../machinery/objects/status-error.ts'
import { decodeBodyAs } from '../codec/decode-body.ts'
import { checkPreconditions, deleteObject } from '../registry/delete.ts'
import { decideEviction, withEvictionCondition } from '../kinds/core/eviction.ts'
import { applyBinding } from '../kinds/core/pod/pod-subresources.ts'
import type { DeleteRequest } from '../request/write.ts'
import type { RequestContext } from '../request/request.ts'
import { answerJson } from '../codec/respond.ts'
import { deleteOptionsOf, writeOptionsOf } from '../codec/write-options.ts'
import type { Parts, ResourceHandler } from './parts.ts'

function success(): unknown {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
}

/** Asks admission about the action itself; what it does to the Pod is no request of its own. */
async function admitAction(
  context: RequestContext,
  parts: Parts,
  action: { subresource: string; name: string; object: KubeObject; dryRun: boolean },
): Promise<void> {
  const { info, user, warnings } = context
  const { pods } = resourcesOf(parts.dialect)
  await parts.registry.admit({
    operation: 'CREATE',
    resource: pods,
    namespace: info.namespace,
    old: undefined,
    user,
    warnings,
    context,
    ...action,
  })
}

async function bind(
  context: RequestContext,
  parts: Parts,
  at: { name: string; binding: KubeObject; dryRun: boolean },
): Promise<void> {
  const { pods } = resourcesOf(parts.dialect)
  const { name, binding, dryRun } = at
  await admitAction(context, parts, { subresource: 'binding', name, object: binding, dryRun })
  await parts.registry.update({
    resource: pods,
    namespace: context.info.namespace,
    name,
    subresource: 'binding',
    user: context.user,
    dryRun,
    warnings: context.warnings,
    isAdmitted: true,
    change: (_, entry) => applyBinding(entry.draft(), binding, parts.clock.now()),
  })
}

async function readBinding(context: RequestContext): Promise<KubeObject> {
  return await decodeBodyAs(
    context,
    { kind: 'Binding', apiVersion: 'v1', schema: 'core/v1.Binding' },
    'Ignore',
  )
}

/** POST pods/{name}/binding: assigns the Pod to a node, once. */
export const bindPod: ResourceHandler = async (context, _, parts) => {
  const { dryRun } = writeOptionsOf(context.info.query, 'CreateOptions', parts.dialect)
  const binding = await readBinding(context)
  const { name } = binding.metadata
  if (name !== undefined && name !== context.info.name) {
    throw badRequest('name in URL does not match name in Binding object')
  }
  await bind(context, parts, { name: context.info.name, binding, dryRun })
  return answerJson(201, success())
}

/** POST bindings: the same, with the Pod named in the body. */
export const createBinding: ResourceHandler = async (context, _, parts) => {
  const { dryRun } = writeOptionsOf(context.info.query, 'CreateOptions', parts.dialect)
  const binding = await readBinding(context)
  await bind(context, parts, { name: binding.metadata.name ?? '', binding, dryRun })
  return answerJson(201, success())
}

/** Says on the Pod that it is being evicted; answers the deletion that follows, of the state that this made. */
async function markEvicted(parts: Parts, deletion: DeleteRequest): Promise<DeleteRequest> {
  if (deletion.dryRun) return deletion
  const { entry } = await parts.registry.update({
    resource: deletion.resource,
    namespace: deletion.namespace,
    name: deletion.name,
    user: deletion.user,
    warnings: deletion.warnings,
    dryRun: false,
    isAdmitted: true,
    subresource: 'status',
    change: (old, current) => {
      checkPreconditions(deletion, old)
      return withEvictionCondition(current.draft(), parts.clock.now())
    },
  })
  const { preconditions } = deletion
  if (preconditions.resourceVersion === undefined) return deletion
  return {
    ...deletion,
    preconditions: { ...preconditions, resourceVersion: String(entry.revision) },
  }
}

/** POST pods/{name}/eviction: deletes the Pod unless a disruption budget forbids it (429). */
export const evictPod: ResourceHandler = async (context, _, parts) => {
  const { info, user, warnings } = context
  const { pods, podDisruptionBudgets } = resourcesOf(parts.dialect)
  const eviction = await decodeBodyAs(
    context,
    {
      kind: 'Eviction',
      apiVersion: 'policy/v1',
      // Older clients still send it; the two differ in nothing.
      alsoAccepted: ['policy/v1beta1'],
      schema: 'policy/v1.Eviction',
    },
    'Ignore',
  )
  const { name } = eviction.metadata
  if (name !== undefined && name !== info.name) {
    throw badRequest('name in URL does not match name in Eviction object')
  }
  const query = writeOptionsOf(info.query, 'CreateOptions', parts.dialect)
  const options = deleteOptionsOf(
    info.query,
    (eviction['deleteOptions'] ?? {}) as Record<string, unknown>,
    { dialect: parts.dialect, allowUnsafe: false },
  )
  const dryRun = query.dryRun || options.dryRun
  await admitAction(context, parts, {
    subresource: 'eviction',
    name: info.name,
    object: eviction,
    dryRun,
  })
  for (;;) {
    const pod = parts.registry.get(pods, info.namespace, info.name).object()
    const budgets = parts.cache.list(podDisruptionBudgets, info.namespace)
    const decision = decideEviction(pod, budgets, parts.clock.now())
    if (decision.budget !== undefined && !dryRun) {
      const { budget } = decision
      try {
        await parts.registry.update({
          resource: podDisruptionBudgets,
          namespace: info.namespace,
          name: budget.metadata.name ?? '',
          subresource: 'status',
          user,
          dryRun,
          warnings,
          isAdmitted: true,
          // The version makes two evictions that spend the same disruption collide.
          change: () => structuredClone(budget),
        })
      } catch (error) {
        if (isStatusError(error, 'Conflict')) continue
        throw error
      }
    }
    const deletion = {
      resource: pods,
      namespace: info.namespace,
      name: info.name,
      user,
      warnings,
      dryRun,
      isAdmitted: true as const,
      gracePeriodSeconds: options.gracePeriodSeconds,
      preconditions: options.preconditions,
      propagation: options.propagation,
    }
    await deleteObject(parts.registry, await markEvicted(parts, deletion))
    return answerJson(201, success())
  }
}
