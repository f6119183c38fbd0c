/** Claiming: which objects are a controller's own, adopting and letting go of the others (upstream: controller_ref_manager.go). */
import type { ResourceClient } from '../client/resource-client.ts'
import type { LabelSelector } from '../machinery/selectors/label-selector.ts'
import { matchesLabels, selectNothing } from '../machinery/selectors/label-selector.ts'
import type { KubeObject, OwnerReference } from '../machinery/objects/object.ts'
import { controllerOf } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'
import { apiVersionOf } from '../machinery/objects/resource.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'

/** The reference of a managing controller, as it is put on what it makes. */
export function controllerReference(owner: KubeObject, resource: Resource): OwnerReference {
  const { name = '', uid = '' } = owner.metadata
  const { kind } = resource
  return {
    apiVersion: apiVersionOf(resource),
    kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  }
}

export type Claim = 'keep' | 'adopt' | 'release' | 'ignore'

/** The decision on one candidate. Pure. */
export function claimOf(object: KubeObject, owner: KubeObject, selector: LabelSelector): Claim {
  const controller = controllerOf(object)
  const isMatch = matchesLabels(selector, object.metadata.labels)
  const isOwnerGoing = owner.metadata.deletionTimestamp !== undefined
  if (controller !== undefined) {
    if (controller.uid !== owner.metadata.uid) return 'ignore'
    if (isMatch) return 'keep'
    return isOwnerGoing ? 'ignore' : 'release'
  }
  if (isOwnerGoing || !isMatch || object.metadata.deletionTimestamp !== undefined) return 'ignore'
  return object.metadata.namespace === owner.metadata.namespace ? 'adopt' : 'ignore'
}

export interface ClaimOptions<T extends KubeObject> {
  readonly candidates: readonly T[]
  readonly owner: KubeObject
  readonly ownerClient: ResourceClient
  readonly selector: LabelSelector
  readonly client: ResourceClient<T>
  /** What an object must be besides selected; default: anything. */
  readonly isMember?: (object: T) => boolean
  /** A finalizer that adopted objects get, and released ones lose. */
  readonly finalizer?: string
}

/**
 * The candidates that are the owner's, those adopted now in their new state. Before the first adoption the owner is read
 * from the server: a cached owner may be gone already. Throws when an adoption or release fails for another reason than
 * that the object is gone.
 */
export async function claimOwned<T extends KubeObject>(options: ClaimOptions<T>): Promise<T[]> {
  const { candidates, owner, ownerClient, selector, isMember = () => true } = options
  const { namespace, name = '', uid = '' } = owner.metadata
  let checked: Promise<void> | undefined
  const checkOwner = async (): Promise<void> => {
    const live = await ownerClient.get({ namespace, name })
    const found = live.metadata.uid
    if (found !== uid)
      throw new Error(
        `original ${ownerClient.resource.kind} ${namespace}/${name} is gone: got uid ${found}, wanted ${uid}`,
      )
    if (live.metadata.deletionTimestamp !== undefined)
      throw new Error(`${namespace}/${name} has just been deleted`)
  }
  const claimed: T[] = []
  for (const object of candidates) {
    const { ownerReferences = [] } = object.metadata
    switch (claimOf(object, owner, isMember(object) ? selector : selectNothing)) {
      case 'keep':
        claimed.push(object)
        break
      case 'adopt': {
        checked ??= checkOwner()
        await checked
        const reference = controllerReference(owner, ownerClient.resource)
        const adopted = await setOwners(options, object, [...ownerReferences, reference])
        if (adopted !== undefined) claimed.push(adopted)
        break
      }
      case 'release':
        await setOwners(
          options,
          object,
          ownerReferences.filter((reference) => reference.uid !== uid),
        )
        break
      case 'ignore':
        break
    }
  }
  return claimed
}

/** The object with these owners, and with the finalizer if it is now the owner's; undefined when it is gone. */
async function setOwners<T extends KubeObject>(
  { owner, client, finalizer }: ClaimOptions<T>,
  { metadata }: T,
  ownerReferences: OwnerReference[],
): Promise<T | undefined> {
  const { namespace, name = '', uid, resourceVersion, finalizers = [] } = metadata
  const isOwned = ownerReferences.some((reference) => reference.uid === owner.metadata.uid)
  const others = finalizers.filter((one) => one !== finalizer)
  const patch = {
    metadata: {
      uid,
      resourceVersion,
      ownerReferences,
      ...(finalizer && { finalizers: isOwned ? [...others, finalizer] : others }),
    },
  }
  try {
    return await client.patch({ namespace, name }, patch, { type: 'merge' })
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined
    throw error
  }
}
