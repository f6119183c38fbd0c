/** Claims of devices in Pods: in the spec, in containers and in the status (upstream: core/validation; KEP-4381). */
import type {
  CoreResourceClaim,
  PodResourceClaim,
  PodResourceClaimStatus,
} from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { label1123, subdomain } from '../../../../machinery/validation/names.ts'
import { goJson } from '../../rules/field-rules.ts'

/** Checks `spec.resourceClaims`; gives their names. */
export function validatePodClaims(
  claims: readonly PodResourceClaim[],
  at: FieldPath,
  podName: string | undefined,
): ReadonlySet<string> {
  const names = new Set<string>()
  for (const [i, claim] of claims.entries()) {
    const claimAt = at.index(i)
    validateName(claim, claimAt.child('name'), { names, podName })
    const { resourceClaimName: claimName, resourceClaimTemplateName: templateName } = claim
    if (claimName !== undefined && templateName !== undefined) {
      const why =
        'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'
      claimAt.invalid(goJson(claim), why)
    }
    if (claimName === undefined && templateName === undefined) {
      const why = 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'
      claimAt.invalid(goJson(claim), why)
    }
    if (claimName !== undefined) {
      claimAt.child('resourceClaimName').invalidEach(claimName, subdomain(claimName))
    }
    if (templateName !== undefined) {
      claimAt.child('resourceClaimTemplateName').invalidEach(templateName, subdomain(templateName))
    }
  }
  return names
}

function validateName(
  { name, resourceClaimTemplateName }: PodResourceClaim,
  at: FieldPath,
  { names, podName }: { readonly names: Set<string>; readonly podName: string | undefined },
): void {
  if (!name) {
    at.required()
    return
  }
  const faults = label1123(name)
  if (names.has(name)) at.duplicate(name)
  else if (faults.length > 0) at.invalidEach(name, faults)
  else if (podName !== undefined && resourceClaimTemplateName !== undefined) {
    const made = `${podName}-${name}`
    for (const fault of subdomain(made)) at.invalid(made, `final ResourceClaim name: ${fault}`)
  }
  names.add(name)
}

/** Checks a container's `resources.claims`: each names one of the Pod's claims, and no request of it twice. */
export function validateContainerClaims(
  claims: readonly CoreResourceClaim[],
  at: FieldPath,
  podClaims: ReadonlySet<string>,
): void {
  const seen = new Set<string>()
  for (const [i, { name, request }] of claims.entries()) {
    const claimAt = at.index(i)
    if (!name) {
      claimAt.required()
      continue
    }
    if (request) claimAt.child('request').invalidEach(request, label1123(request))
    const key = request ? `${name}/${request}` : name
    const overlaps = !request && [...seen].some((other) => other.startsWith(`${name}/`))
    if (seen.has(name) || overlaps) claimAt.duplicate(name)
    else if (seen.has(key)) claimAt.duplicate(key)
    seen.add(key)
    if (podClaims.has(name)) continue
    const known = podClaims.size === 0 ? ' which is empty' : `: ${[...podClaims].sort().join(', ')}`
    claimAt.notFound(name, `must be one of the names in pod.spec.resourceClaims${known}`)
  }
}

/** Checks `status.resourceClaimStatuses`. */
export function validateClaimStatuses(
  statuses: readonly PodResourceClaimStatus[],
  at: FieldPath,
  podClaims: readonly PodResourceClaim[],
): void {
  const names = new Set<string>()
  for (const [i, { name, resourceClaimName }] of statuses.entries()) {
    const nameAt = at.index(i).child('name')
    if (!podClaims.some((claim) => claim.name === name)) {
      nameAt.invalid(name, 'must match the name of an entry in `spec.resourceClaims`')
    }
    if (names.has(name)) nameAt.duplicate(name)
    names.add(name)
    if (resourceClaimName !== undefined) {
      nameAt.invalidEach(resourceClaimName, subdomain(resourceClaimName))
    }
  }
}
