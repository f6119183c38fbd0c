/** LocalClient: how the server writes its own objects, as itself, without a request. */
import type { KubeObject } from '../machinery/object.ts'
import type { Resource } from '../machinery/resource.ts'
import type { Registry } from './registry/registry.ts'

export interface LocalClient {
  /** The newest committed state; undefined when there is none. Synchronous, from the watch cache. */
  get(resource: Resource, namespace: string, name: string): KubeObject | undefined
  /** Rejects with a StatusError: AlreadyExists when another server was first. */
  create(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
  /** The object carries the resourceVersion it was read at. Rejects with a StatusError: Conflict when it has changed since. */
  update(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
}

/** The registry as the server's own client: its identity passes every check, as upstream's loopback client does. */
export function localClientOf(registry: Registry): LocalClient {
  const user = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] }
  const target = (resource: Resource, namespace: string) => ({
    resource,
    namespace,
    user,
    dryRun: false,
    warnings: [],
  })
  return {
    get: (resource, namespace, name) => registry.cache.get(resource, namespace, name),
    create: (resource, namespace, object) =>
      registry.create({ ...target(resource, namespace), object }),
    update: (resource, namespace, object) =>
      registry.update({
        ...target(resource, namespace),
        name: object.metadata.name ?? '',
        subresource: '',
        change: () => structuredClone(object),
      }),
  }
}
