/**
 * Who owns a pod's claims, so that the garbage collector deletes them as persistentVolumeClaimRetentionPolicy says
 * (upstream: stateful_set_utils.go isClaimOwnerUpToDate; KEP-1847). Pure.
 */
import type { PersistentVolumeClaim, Pod, StatefulSet } from '../../api/generated/types.ts'
import type { KubeObject, OwnerReference } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { controllerReference } from '../claim.ts'
import { isInRange, ordinalOf } from './identity.ts'

/** Kinds whose references are ours to keep. */
export interface OwnerKinds {
  readonly statefulSets: Resource
  readonly pods: Resource
}

interface Owners {
  readonly set: StatefulSet
  readonly pod: Pod
  readonly kinds: OwnerKinds
}

export function deletesWhenScaled({ spec }: StatefulSet): boolean {
  return spec?.persistentVolumeClaimRetentionPolicy?.whenScaled === 'Delete'
}

function deletesWhenDeleted({ spec }: StatefulSet): boolean {
  return spec?.persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Delete'
}

function names(reference: OwnerReference, object: KubeObject, resource: Resource): boolean {
  return (
    reference.kind === resource.kind &&
    reference.apiVersion === apiVersionOf(resource) &&
    reference.name === object.metadata.name
  )
}

function isOwnedBy({ metadata }: PersistentVolumeClaim, owner: KubeObject): boolean {
  const { uid } = owner.metadata
  return (metadata.ownerReferences ?? []).some((reference) => reference.uid === uid)
}

/** An owner of that name that lived before: what remains of it is the garbage collector's. */
export function hasFormerOwner(
  { metadata }: PersistentVolumeClaim,
  owner: KubeObject,
  resource: Resource,
): boolean {
  const reference = (metadata.ownerReferences ?? []).find((one) => names(one, owner, resource))
  return reference !== undefined && reference.uid !== owner.metadata.uid
}

function isOurs(reference: OwnerReference, { set, pod, kinds }: Owners): boolean {
  return names(reference, set, kinds.statefulSets) || names(reference, pod, kinds.pods)
}

/** Whether another controller manages the claim. That matters only to a set that would have claims deleted. */
function hasForeignController(claim: PersistentVolumeClaim, owners: Owners): boolean {
  const { set, pod } = owners
  if (!deletesWhenScaled(set) && !deletesWhenDeleted(set)) return false
  const uids = [set.metadata.uid, pod.metadata.uid]
  return (claim.metadata.ownerReferences ?? []).some((reference) =>
    isOurs(reference, owners) ? !uids.includes(reference.uid) : reference.controller === true,
  )
}

/** The owners that the policy asks for. A pod that is scaled away takes its claims along. */
function wantedOwners({ set, pod }: Owners): { set: boolean; pod: boolean } {
  const ordinal = ordinalOf(set, pod)
  const isScaledAway = deletesWhenScaled(set) && (ordinal === undefined || !isInRange(set, ordinal))
  return { set: deletesWhenDeleted(set) && !isScaledAway, pod: isScaledAway }
}

export function isOwnershipRight(claim: PersistentVolumeClaim, owners: Owners): boolean {
  const { set, pod, kinds } = owners
  if (hasFormerOwner(claim, set, kinds.statefulSets)) return true
  if (hasFormerOwner(claim, pod, kinds.pods)) return true
  const isOwned = { set: isOwnedBy(claim, set), pod: isOwnedBy(claim, pod) }
  if (hasForeignController(claim, owners)) return !isOwned.set && !isOwned.pod
  const uids = [set.metadata.uid, pod.metadata.uid]
  const isPlainOwner = (claim.metadata.ownerReferences ?? []).some(
    ({ uid, controller }) => uids.includes(uid) && controller !== true,
  )
  const wanted = wantedOwners(owners)
  return !isPlainOwner && isOwned.set === wanted.set && isOwned.pod === wanted.pod
}

/** The claim with the owners that it should have. */
export function withRightOwners(
  claim: PersistentVolumeClaim,
  owners: Owners,
): PersistentVolumeClaim {
  const { set, pod, kinds } = owners
  const others = (claim.metadata.ownerReferences ?? []).filter((one) => !isOurs(one, owners))
  const wanted = hasForeignController(claim, owners)
    ? { set: false, pod: false }
    : wantedOwners(owners)
  const ownerReferences = [
    ...others,
    ...(wanted.pod ? [controllerReference(pod, kinds.pods)] : []),
    ...(wanted.set ? [controllerReference(set, kinds.statefulSets)] : []),
  ]
  return { ...claim, metadata: { ...claim.metadata, ownerReferences } }
}
