/** pod-actions: POSTs below a Pod that do something instead of storing something: binding and eviction. */
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/object.ts'
import { badRequest, isStatusError } from '../../machinery/status-error.ts'
import { decodeBodyAs } from '../decode-body.ts'
import { deleteObject } from '../registry/delete.ts'
import { decideEviction } from '../registry/strategies/eviction.ts'
import { applyBinding } from '../registry/strategies/pod-subresources.ts'
import type { RequestContext } from '../request.ts'
import { answerJson } from '../respond.ts'
import { deleteOptionsOf, writeOptionsOf } from '../write-options.ts'
import type { Parts, ResourceHandler } from './parts.ts'

function success(): unknown {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
}

async function bind(
  context: RequestContext,
  parts: Parts,
  at: { name: string; binding: KubeObject; dryRun: boolean },
): Promise<void> {
  const { pods } = resourcesOf(parts.dialect)
  await parts.registry.update({
    resource: pods,
    namespace: context.info.namespace,
    name: at.name,
    subresource: 'binding',
    user: context.user,
    dryRun: at.dryRun,
    warnings: context.warnings,
    change: (_, entry) => applyBinding(entry.draft(), at.binding, parts.clock.now()),
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
    parts.dialect,
  )
  const dryRun = query.dryRun || options.dryRun
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
          // The version makes two evictions that spend the same disruption collide.
          change: () => structuredClone(budget),
        })
      } catch (error) {
        if (isStatusError(error, 'Conflict')) continue
        throw error
      }
    }
    await deleteObject(parts.registry, {
      resource: pods,
      namespace: info.namespace,
      name: info.name,
      user,
      warnings,
      dryRun,
      gracePeriodSeconds: options.gracePeriodSeconds,
      preconditions: options.preconditions,
      propagation: options.propagation,
    })
    return answerJson(201, success())
  }
}
