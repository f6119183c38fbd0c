/** Finds the users of a claim, and frees a claim without users (upstream: pkg/controller/resourceclaim/controller.go, syncClaim). */
import { claimFinalizer } from '../../api/device-claims.ts'
import type { Dialect } from '../../api/dialect.ts'
import type {
  Pod,
  ResourceClaim,
  ResourceClaimConsumerReference,
} from '../../api/generated/types.ts'
import { TerminalError } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { isGone } from '../../client/is-gone.ts'
import { controllerOf, keyOf, splitKey } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { isTerminal } from '../pod-state.ts'

export interface ClaimUsersOptions {
  readonly dialect: Dialect
  readonly pods: Informer<Pod>
  readonly claims: Informer<ResourceClaim>
  readonly podClient: ResourceClient<Pod>
  readonly claimClient: ResourceClient<ResourceClaim>
}

/** Removes users that are gone, frees the devices with the last one, and deletes a claim that was made for a pod that is done. */
export async function syncClaimUsers(options: ClaimUsersOptions, key: string): Promise<void> {
  const { claims, dialect } = options
  const claim = claims.get(key)
  if (claim === undefined) return
  const users = claim.status?.reservedFor ?? []
  const valid: ResourceClaimConsumerReference[] = []
  for (const user of users) if (await isUser(options, claim, user)) valid.push(user)
  const isHeld = claim.metadata.finalizers?.includes(claimFinalizer(dialect)) ?? false
  if (valid.length < users.length) await removeUsers(options, claim, { valid, isHeld })
  else if (isHeld && claim.metadata.deletionTimestamp !== undefined && valid.length === 0) {
    const isAllocated = claim.status?.allocation !== undefined
    const freed = isAllocated ? await free(options, claim, []) : claim
    await removeFinalizer(options, freed)
  }
  if (valid.length === 0) await deleteUnneeded(options, claim)
}

/** Whether the pod may still run. The cache may not show it yet, or show one that had its name: then the server is asked. */
async function isUser(
  { pods, podClient }: ClaimUsersOptions,
  { metadata: { namespace = '' } }: ResourceClaim,
  { apiGroup = '', resource, name, uid }: ResourceClaimConsumerReference,
): Promise<boolean> {
  if (apiGroup !== '' || resource !== 'pods') {
    throw new TerminalError(`unsupported ReservedFor entry: ${apiGroup}/${resource} ${name}`)
  }
  const known = pods.get(`${namespace}/${name}`)
  if (known?.metadata.uid === uid) return !isDone(known)
  try {
    const pod = await podClient.get({ namespace, name })
    return pod.metadata.uid === uid && !isDone(pod)
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return false
    throw error
  }
}

/** No container of it runs, or ever will. */
function isDone(pod: Pod): boolean {
  return isTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec?.nodeName)
}

async function removeUsers(
  options: ClaimUsersOptions,
  claim: ResourceClaim,
  { valid, isHeld }: { readonly valid: ResourceClaimConsumerReference[]; readonly isHeld: boolean },
): Promise<void> {
  // Only what the scheduler allocated, which the finalizer tells, is free with the last user.
  if (valid.length > 0 || !isHeld) {
    const status = { ...claim.status, reservedFor: valid }
    await options.claimClient.updateStatus({ ...claim, status })
    return
  }
  await removeFinalizer(options, await free(options, claim, valid))
}

/** An update, not a patch: it fails when anything has changed in the meantime. */
function free(
  { claimClient }: ClaimUsersOptions,
  claim: ResourceClaim,
  reservedFor: ResourceClaimConsumerReference[],
): Promise<ResourceClaim> {
  const { allocation: _devices, ...status } = claim.status ?? {}
  return claimClient.updateStatus({ ...claim, status: { ...status, reservedFor } })
}

async function removeFinalizer(
  { claimClient, dialect }: ClaimUsersOptions,
  claim: ResourceClaim,
): Promise<void> {
  const { metadata } = claim
  const finalizers = (metadata.finalizers ?? []).filter((one) => one !== claimFinalizer(dialect))
  if (finalizers.length === (metadata.finalizers ?? []).length) return
  await claimClient.update({ ...claim, metadata: { ...metadata, finalizers } })
}

/** Garbage collection does the same once the pod is deleted, which may be much later. */
async function deleteUnneeded(
  { pods, claimClient }: ClaimUsersOptions,
  claim: ResourceClaim,
): Promise<void> {
  const { namespace = '', uid = '', deletionTimestamp } = claim.metadata
  const owner = controllerOf(claim)
  if (owner?.kind !== 'Pod' || owner.apiVersion !== 'v1' || deletionTimestamp !== undefined) return
  const pod = pods.get(`${namespace}/${owner.name}`)
  if (pod === undefined || (pod.metadata.uid === owner.uid && !isDone(pod))) return
  try {
    await claimClient.delete(splitKey(keyOf(claim)), { preconditions: { uid } })
  } catch (error) {
    if (!isGone(error)) throw error
  }
}
