/** Reads and writes the objects of the graph on the server, where a missing object is an ordinary outcome. */
import type { Client } from '../../client/client.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { PropagationPolicy, Vertex } from './graph.ts'

/** Every write names the uid and resourceVersion it was decided on: a lost race is a Conflict, and the caller retries. */
export interface LiveObjects {
  /**
   * Undefined if there is no object of that name. A server that has not come to what the graph saw of `seen` rejects: it may say of an owner
   * that goes that it stays, and nothing would look again.
   */
  read(
    resource: Resource,
    ref: { readonly namespace: string; readonly name: string },
    seen: Vertex | undefined,
  ): Promise<KubeObject | undefined>
  /** The vertex' object as the server has it; undefined if it is gone or if another has its name. */
  readVertex(vertex: Vertex): Promise<KubeObject | undefined>
  /** Resolves with the object as it is then; undefined if it is gone. */
  patch(
    vertex: Vertex,
    live: KubeObject,
    metadata: Pick<KubeObject['metadata'], 'ownerReferences' | 'finalizers'>,
  ): Promise<KubeObject | undefined>
  removeFinalizer(vertex: Vertex, finalizer: string): Promise<void>
  remove(vertex: Vertex, live: KubeObject, propagationPolicy: PropagationPolicy): Promise<void>
  /** Removes the object if it is still in the state that the graph saw; false if it is not, or is gone. */
  removeAsSeen(vertex: Vertex): Promise<boolean>
}

async function unlessNotFound<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined
    throw error
  }
}

/** Versions tell nothing of other resources, which may be stored elsewhere. */
function isOf(resource: Resource, seen: Vertex | undefined): seen is Vertex {
  return seen?.resource?.group === resource.group && seen.resource.plural === resource.plural
}

export function createLiveObjects(client: Client): LiveObjects {
  const clientOf = ({ resource }: Vertex): ResourceClient | undefined =>
    resource && client.resource(resource)
  const read: LiveObjects['read'] = async (resource, ref, seen) => {
    const notOlder = isOf(resource, seen) ? { resourceVersion: seen.resourceVersion } : {}
    return await unlessNotFound(client.resource(resource).get(ref, notOlder))
  }
  const readVertex: LiveObjects['readVertex'] = async (vertex) => {
    const { resource } = vertex
    const live = resource && (await read(resource, vertex, vertex))
    return live?.metadata.uid === vertex.uid ? live : undefined
  }
  const patch: LiveObjects['patch'] = async (vertex, live, metadata) => {
    const resourceClient = clientOf(vertex)
    if (resourceClient === undefined) return undefined
    const { uid, resourceVersion } = live.metadata
    const body = { metadata: { uid, resourceVersion, ...metadata } }
    return await unlessNotFound(resourceClient.patch(vertex, body, { type: 'merge' }))
  }
  return {
    read,
    readVertex,
    patch,
    removeFinalizer: async (vertex, finalizer) => {
      const live = await readVertex(vertex)
      const { finalizers = [] } = live?.metadata ?? {}
      if (live === undefined || !finalizers.includes(finalizer)) return
      await patch(vertex, live, { finalizers: finalizers.filter((other) => other !== finalizer) })
    },
    remove: async (vertex, live, propagationPolicy) => {
      const resourceClient = clientOf(vertex)
      if (resourceClient === undefined) return
      const { uid = '', resourceVersion = '' } = live.metadata
      const preconditions = { uid, resourceVersion }
      await unlessNotFound(resourceClient.delete(vertex, { propagationPolicy, preconditions }))
    },
    removeAsSeen: async (vertex) => {
      const { uid, resourceVersion, policy: propagationPolicy } = vertex
      const preconditions = { uid, resourceVersion }
      try {
        await clientOf(vertex)?.delete(vertex, { propagationPolicy, preconditions })
        return true
      } catch (error) {
        if (isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict')) return false
        throw error
      }
    },
  }
}
