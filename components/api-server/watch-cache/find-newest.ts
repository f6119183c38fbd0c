/** findNewest: looks twice for what must be there, as another API server may have written it just now. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from './object-reader.ts'

/** Synchronous for what is found, and where no other server writes. */
export function findNewest(
  reader: ObjectReader,
  resource: Resource,
  at: { readonly namespace?: string; readonly name: string },
): KubeObject | undefined | Promise<KubeObject | undefined> {
  const { namespace = '', name } = at
  const found = reader.get(resource, namespace, name)
  if (found !== undefined) return found
  return reader.refresh?.()?.then(() => reader.get(resource, namespace, name))
}
