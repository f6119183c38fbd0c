/** delete: grace, finalizers, propagation and preconditions of one deletion (upstream: rest/delete.go, store.go Delete). */
import { objectKindOf } from '../../api/object-kind.ts'
import { largeBytes, nextTurn } from '../../component-base/next-turn.ts'
import { timestamp } from '../../component-base/clock.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { conflict, forbidden, notFound } from '../../machinery/objects/status-error.ts'
import { Entry } from '../watch-cache/entry.ts'
import { encodedObject } from '../watch-cache/object-bytes.ts'
import { attemptWrite, type Attempt } from './attempts.ts'
import { workingDraft, workingState } from './working-state.ts'
import { objectKey } from './object-key.ts'
import { isReadyToGo, type Registry } from './registry.ts'
import type { Strategy } from '../kinds/strategy.ts'
import type { DeleteRequest, Written } from '../request/write.ts'

/** The garbage collector's finalizers: dependents are orphaned, or deleted first. */
export const orphanFinalizer = 'orphan'
export const foregroundFinalizer = 'foregroundDeletion'

/**
 * Throws Conflict when the object is not the one, or not in the state, that the request is for. The error names the kind
 * where others name the resource, as upstream's BeforeDelete.
 */
export function checkPreconditions(request: DeleteRequest, object: KubeObject): void {
  const { resource, name, preconditions } = request
  const { uid = '', resourceVersion = '' } = object.metadata
  const wrong = (what: string, asked: string, found: string): Error =>
    conflict(
      { group: resource.group, plural: resource.kind },
      name,
      `the ${what} in the precondition (${asked}) does not match the ${what} in record (${found}). The object might have been ${what === 'UID' ? 'deleted and then recreated' : 'modified'}`,
    )
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    throw wrong('UID', preconditions.uid, uid)
  }
  if (
    preconditions.resourceVersion !== undefined &&
    preconditions.resourceVersion !== resourceVersion
  ) {
    throw wrong('ResourceVersion', preconditions.resourceVersion, resourceVersion)
  }
}

/** The finalizers the object has once the asked-for propagation is noted on it. */
function propagationFinalizers(
  strategy: Strategy,
  request: DeleteRequest,
  finalizers: readonly string[],
): string[] {
  const others = finalizers.filter((f) => f !== orphanFinalizer && f !== foregroundFinalizer)
  const { propagation } = request
  if (propagation === 'Orphan') return [...others, orphanFinalizer]
  if (propagation === 'Foreground') return [...others, foregroundFinalizer]
  if (propagation === 'Background') return others
  if (others.length < finalizers.length) return [...finalizers]
  return strategy.orphansByDefault === true ? [...others, orphanFinalizer] : others
}

/** Seconds of grace of this request: what terminates already goes on as it does, unless the request asks for less. */
function graceOf(
  strategy: Strategy,
  old: KubeObject,
  { gracePeriodSeconds }: DeleteRequest,
): number {
  if (strategy.planDelete === undefined) return 0
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = old.metadata
  if (deletionTimestamp !== undefined) return gracePeriodSeconds ?? deletionGracePeriodSeconds
  return strategy.planDelete(old, gracePeriodSeconds).gracePeriodSeconds
}

/** Notes the deletion on the draft: when it ends, after what grace. Grace can be shortened later, never prolonged. */
function startTermination(draft: KubeObject, graceSeconds: number, nowMs: number): void {
  const { metadata } = draft
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata
  if (deletionTimestamp === undefined) {
    metadata.deletionTimestamp = timestamp(nowMs + graceSeconds * 1000)
    metadata.deletionGracePeriodSeconds = graceSeconds
    if (metadata.generation !== undefined) metadata.generation += 1
    return
  }
  if (graceSeconds < deletionGracePeriodSeconds) {
    const began = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000
    metadata.deletionTimestamp = timestamp(began + graceSeconds * 1000)
    metadata.deletionGracePeriodSeconds = graceSeconds
  }
}

/** Deletes, or starts the termination of, one object. Throws NotFound and Conflict; retries lost races. */
export async function deleteObject(registry: Registry, request: DeleteRequest): Promise<Written> {
  const { resource, namespace, name } = request
  const key = objectKey(resource, namespace, name)
  const find = (): Entry | undefined => registry.stored.find(resource, key)
  return await attemptWrite(registry.cache, { resource, key, find }, async (attempt) => {
    const { current } = attempt
    if (current === undefined) throw notFound(resource, name)
    return await deleteOnce(registry, request, { ...attempt, current, key })
  })
}

/** Throws what keeps the object from being deleted. */
async function checkDeletion(
  registry: Registry,
  request: DeleteRequest,
  old: KubeObject,
): Promise<void> {
  const { resource, namespace, name, user, dryRun, warnings } = request
  const refusal = registry.strategy(resource).refuseDelete?.(old)
  if (refusal !== undefined) throw forbidden(resource, name, refusal)
  checkPreconditions(request, old)
  if (request.isAdmitted === true) return
  await registry.admit({
    operation: 'DELETE',
    resource,
    subresource: '',
    namespace,
    name,
    object: undefined,
    old,
    user,
    dryRun,
    warnings,
    context: request.context,
    deletion: request,
  })
}

/** Undefined when another writer was first. */
async function deleteOnce(
  registry: Registry,
  request: DeleteRequest,
  { current, key, isNewest }: Attempt & { readonly current: Entry; readonly key: string },
): Promise<Written | undefined> {
  const { resource, dryRun } = request
  const strategy = registry.strategy(resource)
  const isLarge = current.mostBytes >= largeBytes
  const old = await workingState(resource, current)
  if (isLarge) await nextTurn()
  await checkDeletion(registry, request, old)
  const draft = workingDraft(old, current)
  if (isLarge) await nextTurn()
  const finalizers = propagationFinalizers(strategy, request, draft.metadata.finalizers ?? [])
  if (finalizers.length > 0) draft.metadata.finalizers = finalizers
  else delete draft.metadata.finalizers
  startTermination(draft, graceOf(strategy, old, request), registry.clock.now())
  strategy.prepareForDelete?.(draft)

  if (isReadyToGo(strategy, draft)) {
    const removed = await registry.commit(request, key, current.revision, {
      remove: current.object(),
    })
    if (removed === undefined) return undefined
    if (!dryRun) await strategy.afterDelete?.(old, registry.strategyContext(request))
    return { entry: removed, outcome: 'removed' }
  }
  const write = encodedObject(await objectKindOf(resource).toStored(draft))
  if (new Entry(key, current.revision, write.bytes).bytes.equals(current.bytes)) {
    return (await isNewest()) ? { entry: current, outcome: 'terminating' } : undefined
  }
  const written = await registry.commit(request, key, current.revision, { write })
  return written && { entry: written, outcome: 'terminating' }
}
