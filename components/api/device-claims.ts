/**
 * Claims of devices as the scheduler and the controller see them (upstream: staging/src/k8s.io/dynamic-resource-allocation/
 * resourceclaim; KEP-4381). Pure.
 */
import { controllerOf, keyOf } from '../machinery/objects/object.ts'
import type { Dialect } from './dialect.ts'
import { labelKey } from './dialect.ts'
import type { Pod, PodResourceClaim, ResourceClaim } from './generated/types.ts'

/** Users of one claim at a time. */
export const mostUsers = 256

/** Devices that one claim can get. */
export const mostDevices = 32

/** Keeps an allocated claim until its devices are free. */
export function claimFinalizer(dialect: Dialect): string {
  return labelKey(dialect, 'resource', 'delete-protection')
}

/** Marks a claim that was made from a template with the name of the entry in `spec.resourceClaims`. */
export function podClaimAnnotation(dialect: Dialect): string {
  return labelKey(dialect, 'resource', 'pod-claim-name')
}

/** Which claim an entry of `spec.resourceClaims` stands for. */
export type NamedClaim =
  | { readonly name: string; readonly isMade: boolean }
  /** No claim was needed. */
  | 'none'
  /** Nothing has been made from the template yet. */
  | { readonly missing: string }
  /** The entry names neither a claim nor a template. */
  | { readonly fault: string }

export function claimOfEntry(pod: Pod, entry: PodResourceClaim): NamedClaim {
  const { resourceClaimName: name, resourceClaimTemplateName: template } = entry
  if (name !== undefined) return { name, isMade: false }
  if (template !== undefined) {
    const made = pod.status?.resourceClaimStatuses?.find((status) => status.name === entry.name)
    if (made === undefined) return { missing: `pod "${keyOf(pod)}": ResourceClaim not created yet` }
    if (made.resourceClaimName === undefined) return 'none'
    return { name: made.resourceClaimName, isMade: true }
  }
  const where = `pod "${keyOf(pod)}", spec.resourceClaim "${entry.name}"`
  return { fault: `${where}: none of the supported fields are set` }
}

/** Why a claim that should have been made for the pod was not; undefined when it was. */
export function ownerFault(pod: Pod, claim: ResourceClaim): string | undefined {
  const isOwned = controllerOf(claim)?.uid === pod.metadata.uid
  if (isOwned && claim.metadata.namespace === pod.metadata.namespace) return undefined
  return `ResourceClaim ${keyOf(claim)} was not created for pod ${keyOf(pod)} (pod is not owner)`
}

export function isReservedFor(pod: Pod, claim: ResourceClaim): boolean {
  return (claim.status?.reservedFor ?? []).some(({ uid }) => uid === pod.metadata.uid)
}

/** Whether the claim has room for one more user. */
export function canBeReserved({ status }: ResourceClaim): boolean {
  return (status?.reservedFor?.length ?? 0) < mostUsers
}

/** The claim with the pod among its users. */
export function reservedFor(claim: ResourceClaim, pod: Pod): ResourceClaim {
  const { name = '', uid = '' } = pod.metadata
  const users = [...(claim.status?.reservedFor ?? []), { resource: 'pods', name, uid }]
  return { ...claim, status: { ...claim.status, reservedFor: users } }
}
