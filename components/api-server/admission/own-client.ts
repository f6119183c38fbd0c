/** OwnClient: how plugins write objects of their own: as the server, by whole requests. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'

/** Rejects with a StatusError as any client's write does. */
export interface OwnClient {
  create(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
  /** The object carries the resourceVersion it was read at. */
  updateStatus(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
}
