/** The key of an object below its resource, as caches and stores have it. */
import type { Resource } from '../../machinery/objects/resource.ts'

/** `namespace/name`, or the name alone for cluster-scoped resources. */
export function objectKey(resource: Resource, namespace: string, name: string): string {
  return resource.namespaced ? `${namespace}/${name}` : name
}
