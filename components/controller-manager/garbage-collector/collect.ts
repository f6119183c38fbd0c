/**
 * Decides on one object of the graph after reading it and its owners from the server (upstream: garbagecollector.go). It reads neither
 * when all owners are known to be gone: the deletion then names the state that the graph saw.
 */
import type { Client } from '../../client/client.ts'
import type { Result } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { KubeObject, OwnerReference } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { eachAtOnce } from '../batches.ts'
import type { AbsentOwners } from './absent-owners.ts'
import type { OwnerGraph, Vertex } from './graph.ts'
import { foregroundFinalizer, orphanFinalizer, policyOf } from './graph.ts'
import { createLiveObjects } from './live-objects.ts'
import type { LiveObjects } from './live-objects.ts'

export interface CollectorOptions {
  readonly client: Client
  readonly graph: OwnerGraph
  readonly absentOwners: AbsentOwners
  readonly recorder: EventRecorder
  /** The resource of a kind as references name it; undefined for one that is not served, or not yet known. */
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  readonly attemptToDelete: (uid: string) => void
}

export interface Collector {
  /** Deletes the object with this uid if no solid owner is left, or removes its dangling owner references. */
  attemptToDelete(uid: string): Promise<Result | void>
  /** Removes the references of an orphaning object's dependents to it, then its finalizer. */
  attemptToOrphan(uid: string): Promise<void>
}

interface Collecting extends CollectorOptions {
  readonly live: LiveObjects
}

/** An owner of a kind that discovery does not know may be known by the next one. */
const unknownKindRetryMs = 30_000
const orphansAtOnce = 20

type Standing = 'solid' | 'dangling' | 'waiting' | 'unknown' | 'misplaced'

export function createCollector(options: CollectorOptions): Collector {
  const { client, graph } = options
  const collecting: Collecting = { ...options, live: createLiveObjects(client) }
  return {
    attemptToDelete: async (uid) => {
      const vertex = graph.get(uid)
      if (vertex === undefined) return undefined
      if (vertex.resource === undefined) return verifyVirtual(collecting, vertex)
      if (vertex.isDeletingDependents) return processDeletingDependents(collecting, vertex)
      return vertex.isBeingDeleted || vertex.owners.length === 0
        ? undefined
        : attemptToDeleteItem(collecting, vertex)
    },
    attemptToOrphan: async (uid) => {
      const vertex = graph.get(uid)
      if (vertex?.isOrphaning !== true) return
      const { live } = collecting
      const dependents = [...(vertex.dependents ?? [])]
      const [failure] = await eachAtOnce(dependents, orphansAtOnce, (one) => orphan(live, one, uid))
      if (failure !== undefined) throw failure
      await live.removeFinalizer(vertex, orphanFinalizer)
    },
  }
}

/** Classifies one owner as the server has it. Only a clear "not found" makes a reference dangling. */
async function standingOf(
  { live, graph, absentOwners, resourceOf }: Collecting,
  reference: OwnerReference,
  from: Vertex,
): Promise<Standing> {
  const { apiVersion, kind, name, uid } = reference
  const resource = resourceOf(apiVersion, kind)
  if (resource === undefined) return 'unknown'
  if (resource.namespaced && from.namespace === '') return 'misplaced'
  const namespace = resource.namespaced ? from.namespace : ''
  if (absentOwners.has(reference, namespace)) return 'dangling'
  const owner = await live.read(resource, { namespace, name }, graph.get(uid))
  if (owner?.metadata.uid !== uid) {
    absentOwners.add(reference, namespace)
    return 'dangling'
  }
  const { deletionTimestamp, finalizers = [] } = owner.metadata
  const isWaiting = deletionTimestamp !== undefined && finalizers.includes(foregroundFinalizer)
  return isWaiting ? 'waiting' : 'solid'
}

/** Checks whether an owner that only references name exists. If it does not, its dependents are queued. */
async function verifyVirtual(collecting: Collecting, vertex: Vertex): Promise<Result | void> {
  const standing = await standingOf(collecting, vertex, vertex)
  if (standing === 'unknown') return { requeueAfterMs: unknownKindRetryMs }
  if (standing !== 'dangling' || vertex.resource !== undefined) return
  // Each dependent checks its own reference: another's may name the owner rightly.
  for (const dependent of vertex.dependents ?? []) collecting.attemptToDelete(dependent.uid)
}

/** Foreground deletion: queues the dependents that block the owner, and removes its finalizer after the last. */
async function processDeletingDependents(collecting: Collecting, vertex: Vertex): Promise<void> {
  const blocking = vertex.blockingDependents()
  if (blocking.length === 0) {
    await collecting.live.removeFinalizer(vertex, foregroundFinalizer)
    return
  }
  for (const dependent of blocking)
    if (!dependent.isDeletingDependents) collecting.attemptToDelete(dependent.uid)
}

function reportInvalidNamespace(
  { graph, recorder }: Collecting,
  live: KubeObject,
  reference: OwnerReference,
): void {
  const { namespace = '' } = live.metadata
  const { apiVersion, kind, name, uid } = reference
  const shown = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`
  const owner = graph.get(uid)
  if (owner?.resource === undefined || owner.namespace === namespace) return
  recorder.record(live, {
    type: 'Warning',
    reason: 'OwnerRefInvalidNamespace',
    message: `ownerRef ${shown} does not exist in namespace "${namespace}"`,
  })
}

/** All owners are known to be gone, and none of them is wrongly named: that would be reported. */
function isOrphaned({ absentOwners, graph, resourceOf }: Collecting, vertex: Vertex): boolean {
  if (vertex.resourceVersion === '') return false
  return vertex.owners.every((reference) => {
    const resource = resourceOf(reference.apiVersion, reference.kind)
    if (resource === undefined || graph.get(reference.uid)?.resource !== undefined) return false
    if (resource.namespaced && vertex.namespace === '') return false
    return absentOwners.has(reference, resource.namespaced ? vertex.namespace : '')
  })
}

async function attemptToDeleteItem(collecting: Collecting, vertex: Vertex): Promise<Result | void> {
  const { live, graph } = collecting
  if (isOrphaned(collecting, vertex) && (await live.removeAsSeen(vertex))) return
  const object = await live.readVertex(vertex)
  if (object === undefined) {
    // Its watch may have ended before the deletion event; no owner may wait for an object that is gone.
    graph.forget(vertex.uid)
    return
  }
  const references = object.metadata.ownerReferences ?? []
  if (references.length === 0) return
  const by = new Map<Standing, OwnerReference[]>()
  for (const reference of references) {
    const standing = await standingOf(collecting, reference, vertex)
    if (standing === 'misplaced') return
    if (standing === 'unknown') return { requeueAfterMs: unknownKindRetryMs }
    if (standing === 'dangling') reportInvalidNamespace(collecting, object, reference)
    by.set(standing, [...(by.get(standing) ?? []), reference])
  }
  const solid = by.get('solid') ?? []
  if (solid.length > 0) {
    if (solid.length < references.length)
      await live.patch(vertex, object, { ownerReferences: solid })
    return
  }
  if (by.has('waiting') && vertex.dependents !== undefined)
    await removeWithDependents(live, vertex, object)
  else await live.remove(vertex, object, policyOf(object.metadata.finalizers ?? []))
}

/** Deletes in the foreground an object whose owner waits for it: its own dependents go first too. */
async function removeWithDependents(
  live: LiveObjects,
  vertex: Vertex,
  object: KubeObject,
): Promise<void> {
  const dependents = [...(vertex.dependents ?? [])]
  if (!dependents.some((dependent) => dependent.isDeletingDependents)) {
    await live.remove(vertex, object, 'Foreground')
    return
  }
  // The object may depend on itself in a circle, which would block its own deletion for ever.
  const { ownerReferences = [] } = object.metadata
  const unblocked = ownerReferences.map((reference) =>
    reference.blockOwnerDeletion === true ? { ...reference, blockOwnerDeletion: false } : reference,
  )
  const changed = await live.patch(vertex, object, { ownerReferences: unblocked })
  if (changed !== undefined) await live.remove(vertex, changed, 'Foreground')
}

async function orphan(live: LiveObjects, dependent: Vertex, owner: string): Promise<void> {
  const object = await live.readVertex(dependent)
  const { ownerReferences = [] } = object?.metadata ?? {}
  const others = ownerReferences.filter(({ uid }) => uid !== owner)
  if (object === undefined || others.length === ownerReferences.length) return
  await live.patch(dependent, object, { ownerReferences: others })
}
