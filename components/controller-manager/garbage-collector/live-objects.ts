/** Reads and writes the objects of the graph on the server, where a missing object is an ordinary outcome. */
import type { Client } from '../../client/client.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { PropagationPolicy, Vertex } from './graph.ts'

/** Every write names the uid and resourceVersion it was decided on: a lost race is a Conflict, and the caller retries. */
export interface LiveObjects {
  /** Undefined if there is no object of that name. */
  read(
    resource: Resource,
    ref: { readonly namespace: string; readonly name: string },
  ): Promise<KubeObject | undefined>
  /** The vertex' object as the server has it; undefined if it is gone or if another has its name. */
  readVertex(vertex: Vertex): Promise<KubeObject | undefined>
  patch(
    vertex: Vertex,
    live: KubeObject,
    metadata: Pick<KubeObject['metadata'], 'ownerReferences' | 'finalizers'>,
  ): Promise<void>
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

export function createLiveObjects(client: Client): LiveObjects {
  const clientOf = ({ resource }: Vertex): ResourceClient | undefined =>
    resource && client.resource(resource)
  const readVertex: LiveObjects['readVertex'] = async (vertex) => {
    const resourceClient = clientOf(vertex)
    const live = resourceClient && (await unlessNotFound(resourceClient.get(vertex)))
    return live?.metadata.uid === vertex.uid ? live : undefined
  }
  const patch: LiveObjects['patch'] = async (vertex, live, metadata) => {
    const resourceClient = clientOf(vertex)
    if (resourceClient === undefined) return
    const { uid, resourceVersion } = live.metadata
    const body = { metadata: { uid, resourceVersion, ...metadata } }
    await unlessNotFound(resourceClient.patch(vertex, body, { type: 'merge' }))
  }
  return {
    read: (resource, ref) => unlessNotFound(client.resource(resource).get(ref)),
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
