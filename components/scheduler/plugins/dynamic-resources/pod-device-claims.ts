/** The claims of devices that a pod names (upstream: dynamicresources.go, foreachPodResourceClaim). */
import { claimOfEntry, ownerFault } from '../../../api/device-claims.ts'
import type { Pod, ResourceClaim } from '../../../api/generated/types.ts'

/** The pod's claims, each once; or why the pod has to wait for one of them. */
export function deviceClaimsOf(
  pod: Pod,
  find: (key: string) => ResourceClaim | undefined,
): readonly ResourceClaim[] | { readonly fault: string } {
  const claims = new Map<string, ResourceClaim>()
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const named = claimOfEntry(pod, entry)
    if (named === 'none') continue
    if ('missing' in named) return { fault: named.missing }
    if ('fault' in named) return named
    const key = `${pod.metadata.namespace ?? ''}/${named.name}`
    const claim = find(key)
    if (claim === undefined) return { fault: `resourceclaim "${named.name}" not found` }
    if (claim.metadata.deletionTimestamp !== undefined) {
      return { fault: `resourceclaim "${named.name}" is being deleted` }
    }
    const fault = named.isMade ? ownerFault(pod, claim) : undefined
    if (fault !== undefined) return { fault }
    claims.set(key, claim)
  }
  return [...claims.values()]
}
