/** The closer look: reads the object and its owners from the server, and only then deletes, unties or lets go (upstream: garbagecollector.go). */
import type { Client } from '../../client/client.ts'
import type { Result } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { KubeObject, OwnerReference } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { eachAtOnce } from '../batches.ts'
import type { AbsentOwners } from './absent-owners.ts'
import type { OwnerGraph, Vertex } from './graph.ts'
import { foregroundFinalizer, orphanFinalizer } from './graph.ts'

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
  /** What is to become of the object with this uid, done. */
  attemptToDelete(uid: string): Promise<Result | void>
  /** Frees the dependents of an object that goes without them, then lets it go. */
  attemptToOrphan(uid: string): Promise<void>
}

/** An owner of a kind that discovery does not know may be known by the next one. */
const unknownKindRetryMs = 30_000
const orphansAtOnce = 20

type Standing = 'solid' | 'dangling' | 'waiting' | 'unknown' | 'misplaced'

export function createCollector(options: CollectorOptions): Collector {
  const { client, graph, absentOwners, recorder, resourceOf } = options

  const read = async (
    resourceClient: ResourceClient,
    ref: { namespace: string; name: string },
  ): Promise<KubeObject | undefined> => {
    try {
      return await resourceClient.get(ref)
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined
      throw error
    }
  }
  /** The object itself as the server has it; undefined when it is gone, or another has its name. */
  const readLive = async (vertex: Vertex): Promise<KubeObject | undefined> => {
    if (vertex.resource === undefined) return undefined
    const live = await read(client.resource(vertex.resource), vertex)
    return live?.metadata.uid === vertex.uid ? live : undefined
  }
  /** A lost race is a Conflict: the caller looks again. */
  const patch = async (
    vertex: Vertex,
    live: KubeObject,
    metadata: Pick<KubeObject['metadata'], 'ownerReferences' | 'finalizers'>,
  ): Promise<void> => {
    if (vertex.resource === undefined) return
    const { uid, resourceVersion } = live.metadata
    try {
      await client
        .resource(vertex.resource)
        .patch(vertex, { metadata: { uid, resourceVersion, ...metadata } }, { type: 'merge' })
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }
  const removeFinalizer = async (vertex: Vertex, finalizer: string): Promise<void> => {
    const live = await readLive(vertex)
    const { finalizers = [] } = live?.metadata ?? {}
    if (live === undefined || !finalizers.includes(finalizer)) return
    await patch(vertex, live, { finalizers: finalizers.filter((other) => other !== finalizer) })
  }
  const remove = async (
    vertex: Vertex,
    live: KubeObject,
    propagationPolicy: 'Foreground' | 'Background' | 'Orphan',
  ): Promise<void> => {
    if (vertex.resource === undefined) return
    const { uid = '', resourceVersion = '' } = live.metadata
    try {
      await client
        .resource(vertex.resource)
        .delete(vertex, { propagationPolicy, preconditions: { uid, resourceVersion } })
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }

  /** How one owner stands, by the server's word. Only a clear "not there" makes a reference dangle. */
  const standingOf = async (reference: OwnerReference, from: Vertex): Promise<Standing> => {
    const { apiVersion, kind, name, uid } = reference
    const resource = resourceOf(apiVersion, kind)
    if (resource === undefined) return 'unknown'
    if (resource.namespaced && from.namespace === '') return 'misplaced'
    const namespace = resource.namespaced ? from.namespace : ''
    if (absentOwners.has(reference, namespace)) return 'dangling'
    const owner = await read(client.resource(resource), { namespace, name })
    if (owner?.metadata.uid !== uid) {
      absentOwners.add(reference, namespace)
      return 'dangling'
    }
    const { deletionTimestamp, finalizers = [] } = owner.metadata
    const isWaiting = deletionTimestamp !== undefined && finalizers.includes(foregroundFinalizer)
    return isWaiting ? 'waiting' : 'solid'
  }

  /** An owner that is known only from references: is there such an object at all? */
  const verify = async (vertex: Vertex): Promise<Result | void> => {
    const standing = await standingOf(vertex, vertex)
    if (standing === 'unknown') return { requeueAfterMs: unknownKindRetryMs }
    if (standing !== 'dangling' || vertex.resource !== undefined) return
    // Each looks for itself: another's reference may name the owner rightly.
    for (const dependent of vertex.dependents ?? []) options.attemptToDelete(dependent.uid)
  }

  const continueForeground = async (vertex: Vertex): Promise<void> => {
    const blocking = vertex.blockingDependents()
    if (blocking.length === 0) {
      await removeFinalizer(vertex, foregroundFinalizer)
      return
    }
    for (const dependent of blocking)
      if (!dependent.isDeletingDependents) options.attemptToDelete(dependent.uid)
  }

  const complain = (live: KubeObject, reference: OwnerReference): void => {
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

  const judge = async (vertex: Vertex): Promise<Result | void> => {
    const live = await readLive(vertex)
    if (live === undefined) {
      // Its watch may have ended before it could tell; nobody is to wait for what is not there.
      graph.forget(vertex.uid)
      return
    }
    const references = live.metadata.ownerReferences ?? []
    if (references.length === 0) return
    const by = new Map<Standing, OwnerReference[]>()
    for (const reference of references) {
      const standing = await standingOf(reference, vertex)
      if (standing === 'misplaced') return
      if (standing === 'unknown') return { requeueAfterMs: unknownKindRetryMs }
      if (standing === 'dangling') complain(live, reference)
      by.set(standing, [...(by.get(standing) ?? []), reference])
    }
    const { length: solid } = by.get('solid') ?? []
    const waiting = by.get('waiting') ?? []
    if (solid > 0) {
      if (solid < references.length)
        await patch(vertex, live, { ownerReferences: by.get('solid') ?? [] })
      return
    }
    if (waiting.length > 0 && vertex.dependents !== undefined) {
      await removeWithDependents(vertex, live)
      return
    }
    const { finalizers = [] } = live.metadata
    const policy = finalizers.includes(orphanFinalizer)
      ? 'Orphan'
      : finalizers.includes(foregroundFinalizer)
        ? 'Foreground'
        : 'Background'
    await remove(vertex, live, policy)
  }

  /** Its owner waits for it, and it has dependents of its own: they go first too. */
  const removeWithDependents = async (vertex: Vertex, live: KubeObject): Promise<void> => {
    const dependents = [...(vertex.dependents ?? [])]
    if (!dependents.some((dependent) => dependent.isDeletingDependents)) {
      await remove(vertex, live, 'Foreground')
      return
    }
    // It may depend on itself by way of a circle, which would wait for ever.
    const { ownerReferences = [] } = live.metadata
    const freed = ownerReferences.map((reference) =>
      reference.blockOwnerDeletion === true
        ? { ...reference, blockOwnerDeletion: false }
        : reference,
    )
    await patch(vertex, live, { ownerReferences: freed })
    const changed = await readLive(vertex)
    if (changed !== undefined) await remove(vertex, changed, 'Foreground')
  }

  const untie = async (dependent: Vertex, owner: string): Promise<void> => {
    const live = await readLive(dependent)
    const { ownerReferences = [] } = live?.metadata ?? {}
    const others = ownerReferences.filter(({ uid }) => uid !== owner)
    if (live === undefined || others.length === ownerReferences.length) return
    await patch(dependent, live, { ownerReferences: others })
  }

  return {
    attemptToDelete: async (uid) => {
      const vertex = graph.get(uid)
      if (vertex === undefined) return undefined
      if (vertex.resource === undefined) return verify(vertex)
      if (vertex.isDeletingDependents) return continueForeground(vertex)
      return vertex.isBeingDeleted || vertex.owners.length === 0 ? undefined : judge(vertex)
    },
    attemptToOrphan: async (uid) => {
      const vertex = graph.get(uid)
      if (vertex?.isOrphaning !== true) return
      const dependents = [...(vertex.dependents ?? [])]
      const [failure] = await eachAtOnce(dependents, orphansAtOnce, (one) => untie(one, uid))
      if (failure !== undefined) throw failure
      await removeFinalizer(vertex, orphanFinalizer)
    },
  }
}
