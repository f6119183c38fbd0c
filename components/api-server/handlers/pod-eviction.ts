/** pod-eviction: deletes a Pod unless a PodDisruptionBudget forbids it (upstream: registry/core/pod EvictionREST). */
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { badRequest, isStatusError } from '../../machinery/objects/status-error.ts'
import { decodeBodyAs } from '../codec/decode-body.ts'
import { deleteOptionsOf, writeOptionsOf } from '../codec/write-options.ts'
import {
  decideEviction,
  freeWhile,
  stillProcessed,
  withEvictionCondition,
} from '../kinds/core/eviction.ts'
import { checkPreconditions, deleteObject } from '../registry/delete.ts'
import type { RequestContext } from '../request/request.ts'
import type { DeleteRequest } from '../request/write.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { admitAction, answerAction } from './pod-action.ts'

async function readEviction(context: RequestContext): Promise<KubeObject> {
  const eviction = await decodeBodyAs(
    context,
    {
      kind: 'Eviction',
      apiVersion: 'policy/v1',
      // Older clients still send it; the two have the same fields.
      alsoAccepted: ['policy/v1beta1'],
      schema: 'policy/v1.Eviction',
    },
    'Ignore',
  )
  const { name } = eviction.metadata
  if (name !== undefined && name !== context.info.name) {
    throw badRequest('name in URL does not match name in Eviction object')
  }
  return eviction
}

/** The deletion that the eviction asks for. */
function deletionOf(context: RequestContext, eviction: KubeObject, parts: Parts): DeleteRequest {
  const { info, user, warnings } = context
  const { dialect } = parts
  const query = writeOptionsOf(info.query, 'CreateOptions', dialect)
  const options = deleteOptionsOf(
    info.query,
    (eviction['deleteOptions'] ?? {}) as Record<string, unknown>,
    { dialect, allowUnsafe: false },
  )
  return {
    resource: resourcesOf(dialect).pods,
    namespace: info.namespace,
    name: info.name,
    user,
    warnings,
    context,
    dryRun: query.dryRun || options.dryRun,
    isAdmitted: true,
    gracePeriodSeconds: options.gracePeriodSeconds,
    preconditions: options.preconditions,
    propagation: options.propagation,
  }
}

/** A deletion that the budgets allow, and why it holds only while the Pod stays as it is. */
interface Allowed {
  readonly deletion: DeleteRequest
  readonly while: ReturnType<typeof freeWhile>
}

/**
 * Spends a disruption of the Pod's budget, if the eviction costs one. Throws 429 when none is left, and 409 for a Pod that the
 * client does not mean. Undefined: another write was first.
 */
async function allowEviction(parts: Parts, deletion: DeleteRequest): Promise<Allowed | undefined> {
  const { resource, namespace, name } = deletion
  const { podDisruptionBudgets } = resourcesOf(parts.dialect)
  await parts.cache.refresh()
  const pod = parts.registry.get(resource, namespace, name).object()
  checkPreconditions(deletion, pod)
  const budgets = parts.cache.list(podDisruptionBudgets, namespace)
  const budget = decideEviction(pod, budgets, parts.clock.now())
  if (budget !== undefined)
    return (await spendDisruption(parts, deletion, budget))
      ? { deletion, while: undefined }
      : undefined
  const why = freeWhile(pod, budgets)
  const { preconditions } = deletion
  // A version that the client asks for may be older, and holds.
  if (why === undefined || preconditions.resourceVersion !== undefined)
    return { deletion, while: undefined }
  const { resourceVersion = '' } = pod.metadata
  return {
    deletion: { ...deletion, preconditions: { ...preconditions, resourceVersion } },
    while: why,
  }
}

/** Stores the budget with the disruption taken off it. False: another write was first. */
async function spendDisruption(
  parts: Parts,
  { namespace, user, warnings, dryRun, context }: DeleteRequest,
  budget: KubeObject,
): Promise<boolean> {
  if (dryRun) return true
  try {
    await parts.registry.update({
      resource: resourcesOf(parts.dialect).podDisruptionBudgets,
      namespace,
      name: budget.metadata.name ?? '',
      subresource: 'status',
      user,
      dryRun,
      warnings,
      ...(context === undefined ? {} : { context }),
      isAdmitted: true,
      // With the resourceVersion that was read, so that of two evictions that spend one disruption the second conflicts.
      change: () => structuredClone(budget),
    })
    return true
  } catch (error) {
    if (isStatusError(error, 'Conflict')) return false
    throw error
  }
}

/** Sets the Pod's condition DisruptionTarget, and gives the deletion of the state that this made. */
async function markEvicted(parts: Parts, deletion: DeleteRequest): Promise<DeleteRequest> {
  if (deletion.dryRun) return deletion
  const { entry } = await parts.registry.update({
    resource: deletion.resource,
    namespace: deletion.namespace,
    name: deletion.name,
    user: deletion.user,
    warnings: deletion.warnings,
    ...(deletion.context === undefined ? {} : { context: deletion.context }),
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

/** One attempt. False: another write was first, so that the next one decides again. */
async function tryEviction(parts: Parts, deletion: DeleteRequest): Promise<boolean> {
  const allowed = await allowEviction(parts, deletion)
  if (allowed === undefined) return false
  try {
    await deleteObject(parts.registry, await markEvicted(parts, allowed.deletion))
    return true
  } catch (error) {
    if (allowed.while === undefined || !isStatusError(error, 'Conflict')) throw error
    if (allowed.while === 'pending') return false
    throw stillProcessed(allowed.while.unready)
  }
}

/** POST pods/{name}/eviction. */
export const evictPod: ResourceHandler = async (context, _, parts) => {
  const eviction = await readEviction(context)
  const deletion = deletionOf(context, eviction, parts)
  const { name, dryRun } = deletion
  await admitAction(context, parts, { subresource: 'eviction', name, object: eviction, dryRun })
  // Each further attempt means that another writer has made progress.
  while (!(await tryEviction(parts, deletion)));
  return answerAction()
}
