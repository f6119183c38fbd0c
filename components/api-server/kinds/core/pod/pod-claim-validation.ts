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
  /** Claims of which a request was named. */
  const inParts = new Set<string>()
  for (const [i, { name, request }] of claims.entries()) {
    const claimAt = at.index(i)
    if (!name) {
      claimAt.required()
      continue
    }
    if (request) claimAt.child('request').invalidEach(request, label1123(request))
    const key = request ? `${name}/${request}` : name
    if (seen.has(name) || (!request && inParts.has(name))) claimAt.duplicate(name)
    else if (seen.has(key)) claimAt.duplicate(key)
    seen.add(key)
    if (request) inParts.add(name)
    if (!podClaims.has(name)) claimAt.notFound(name, wantedNames(podClaims))
  }
}

/** Characters of names in one message: a Pod can have thousands of claims, and as many references to others. */
const longestNames = 1000

function wantedNames(names: ReadonlySet<string>): string {
  const wanted = 'must be one of the names in pod.spec.resourceClaims'
  if (names.size === 0) return `${wanted} which is empty`
  const shown: string[] = []
  let length = 0
  for (const name of names) {
    length += name.length
    if (length > longestNames) return `${wanted}: ${shown.sort().join(', ')}, ...`
    shown.push(name)
  }
  return `${wanted}: ${shown.sort().join(', ')}`
}

/** Checks `status.resourceClaimStatuses`. */
export function validateClaimStatuses(
  statuses: readonly PodResourceClaimStatus[],
  at: FieldPath,
  podClaims: readonly PodResourceClaim[],
): void {
  const names = new Set<string>()
  const known = new Set(podClaims.map((claim) => claim.name))
  for (const [i, { name, resourceClaimName }] of statuses.entries()) {
    const nameAt = at.index(i).child('name')
    if (!known.has(name)) {
      nameAt.invalid(name, 'must match the name of an entry in `spec.resourceClaims`')
    }
    if (names.has(name)) nameAt.duplicate(name)
    names.add(name)
    if (resourceClaimName !== undefined) {
      nameAt.invalidEach(resourceClaimName, subdomain(resourceClaimName))
    }
  }
}
