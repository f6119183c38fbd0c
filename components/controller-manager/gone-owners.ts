/**
 * Owners that the server no longer has, while an informer without connection still shows them. The garbage collector deletes their
 * dependents as fast as a controller makes them, so none may be made.
 */
import type { Reconciler } from '../client/controller.ts'
import type { Informer } from '../client/informer.ts'
import type { ResourceClient } from '../client/resource-client.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import type { OwnWrites } from './own-writes.ts'

/**
 * The reconciler, but not for owners that are gone. The server is asked only when dependents were deleted by somebody else as
 * soon as they were made; an error of it fails the reconciler.
 */
export function unlessGone<T extends KubeObject>(
  options: {
    readonly owners: Pick<Informer<T>, 'get' | 'onEvent'>
    readonly client: Pick<ResourceClient<T>, 'get'>
    readonly ownWrites: Pick<OwnWrites, 'hasLostYoung' | 'forgetLost'>
  },
  reconcile: Reconciler,
): Reconciler {
  const { owners, client, ownWrites } = options
  const gone = new Set<string>()
  owners.onEvent(({ type, object }) => {
    if (type === 'delete') gone.delete(object.metadata.uid ?? '')
  })
  const isLive = async ({ metadata }: T): Promise<boolean> => {
    const { namespace, name = '', uid } = metadata
    try {
      return (await client.get({ namespace, name })).metadata.uid === uid
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return false
      throw error
    }
  }
  return async (key, signal) => {
    const owner = owners.get(key)
    if (owner !== undefined && ownWrites.hasLostYoung(key)) {
      const uid = owner.metadata.uid ?? ''
      if (!(await isLive(owner)) && owners.get(key)?.metadata.uid === uid) gone.add(uid)
    }
    ownWrites.forgetLost(key)
    return gone.has(owner?.metadata.uid ?? '') ? undefined : await reconcile(key, signal)
  }
}
