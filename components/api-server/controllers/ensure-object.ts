/** ensure-object: makes sure of one object of the server's own. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { Reconcile } from './reconcile-own-objects.ts'

/** Races with other servers that start at the same time. */
const maxAttempts = 5

/** An object that the server makes sure of. */
export interface OwnObject {
  readonly resource: Resource
  readonly object: KubeObject
  readonly reconcile: Reconcile
}

/** Creates the object, or updates it as `reconcile` says. Rejects with the last StatusError when the races are lost. */
export async function ensureObject(
  client: LocalClient,
  { resource, object, reconcile }: OwnObject,
): Promise<void> {
  const { namespace = '', name = '' } = object.metadata
  for (let attempt = 1; ; attempt++) {
    const existing = client.get(resource, namespace, name)
    // The log names an object that cannot be read. The server runs without it, so that a user can delete it.
    if (existing === undefined && !client.isReadable(resource, namespace, name)) return
    try {
      if (existing === undefined) await client.create(resource, namespace, structuredClone(object))
      else {
        const updated = reconcile(existing, object)
        if (updated !== undefined) await client.update(resource, namespace, updated)
      }
      return
    } catch (error) {
      if (attempt === maxAttempts || !isStatusError(error, 'AlreadyExists', 'Conflict')) throw error
    }
  }
}
