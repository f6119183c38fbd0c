/** Keeping a finalizer on objects that must not vanish while they are used (upstream: component-helpers/storage, protectionutil). */
import type { ResourceClient } from '../../client/resource-client.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'

export interface Protection<T extends KubeObject> {
  readonly client: ResourceClient<T>
  readonly finalizer: string
  /** Asked of an object that was deleted and is still there. */
  readonly isUsed: (object: T) => boolean | Promise<boolean>
}

/**
 * Adds the finalizer to an object that lacks it, and takes it from a deleted one that is not used. True for a deleted one that is
 * kept because it is used. Throws what the server says.
 */
export async function protect<T extends KubeObject>(
  { client, finalizer, isUsed }: Protection<T>,
  object: T,
): Promise<boolean> {
  const { metadata } = object
  const finalizers = metadata.finalizers ?? []
  const isHeld = finalizers.includes(finalizer)
  const isDeleted = metadata.deletionTimestamp !== undefined
  if (isDeleted !== isHeld) return false
  if (isDeleted && (await isUsed(object))) return true
  const next = isDeleted
    ? finalizers.filter((one) => one !== finalizer)
    : [...finalizers, finalizer]
  await client.update({ ...object, metadata: { ...metadata, finalizers: next } })
  return false
}
