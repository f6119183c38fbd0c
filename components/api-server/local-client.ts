/** LocalClient: how the server writes its own objects, as itself, without a request. The registry implements it. */
import type { KubeObject } from '../machinery/object.ts'
import type { Resource } from '../machinery/resource.ts'

export interface LocalClient {
  /** The newest committed state; undefined when there is none. Synchronous, from the watch cache. */
  get(resource: Resource, namespace: string, name: string): KubeObject | undefined
  /** Rejects with a StatusError: AlreadyExists when another server was first. */
  create(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
  /** The object carries the resourceVersion it was read at. Rejects with a StatusError: Conflict when it has changed since. */
  update(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
}
