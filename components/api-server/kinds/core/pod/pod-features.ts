/**
 * Fields of Pods whose feature is off in release 1.32 unless asked for: a client may send them, the server drops them,
 * except from objects that have them already.
 */
import type { FeatureGates } from '../../../../api/feature-gates.ts'
import type { Container, PodSpec, SecurityContext } from '../../../../api/generated/types.ts'

const podFields = ['resources', 'hostUsers'] as const
const podContextFields = ['supplementalGroupsPolicy'] as const

// Deleting an absent field is slow, and these fields are nearly always absent.
function drop<T extends object>(from: T | undefined, field: keyof T): void {
  if (from?.[field] !== undefined) delete from[field]
}

/** Changes `spec`, which is a draft. `old` is the spec before an update. */
export function dropDisabledPodFields(
  { spec, old }: { readonly spec: PodSpec; readonly old?: PodSpec | undefined },
  gates: FeatureGates,
): void {
  for (const field of podFields) if (old?.[field] === undefined) drop(spec, field)
  dropResourceClaims({ spec, old }, gates)
  for (const field of podContextFields) {
    if (old?.securityContext?.[field] === undefined) drop(spec.securityContext, field)
  }
  if (!gates.SELinuxChangePolicy && old?.securityContext?.seLinuxChangePolicy === undefined) {
    drop(spec.securityContext, 'seLinuxChangePolicy')
  }
  const hadImageVolume = old?.volumes?.some(({ image }) => image) ?? false
  const hadTrustBundle = hasTrustBundle(old)
  for (const volume of spec.volumes ?? []) {
    if (!hadImageVolume) drop(volume, 'image')
    if (hadTrustBundle) continue
    for (const source of volume.projected?.sources ?? []) drop(source, 'clusterTrustBundle')
  }
  const before = [...(old?.containers ?? []), ...(old?.initContainers ?? [])]
  for (const list of [spec.containers, spec.initContainers, spec.ephemeralContainers]) {
    for (const container of list ?? []) dropFromContainer(container, before)
  }
}

/** They go together: with claims in the old spec, all of the new one's stay (upstream: dropDisabledDynamicResourceAllocationFields). */
function dropResourceClaims(
  { spec, old }: { readonly spec: PodSpec; readonly old?: PodSpec | undefined },
  { DynamicResourceAllocation: isOn }: FeatureGates,
): void {
  if (isOn || old?.resourceClaims !== undefined) return
  drop(spec, 'resourceClaims')
  for (const list of [spec.containers, spec.initContainers, spec.ephemeralContainers]) {
    for (const { resources } of list ?? []) drop(resources, 'claims')
  }
}

function hasTrustBundle(spec: PodSpec | undefined): boolean {
  return (spec?.volumes ?? []).some((volume) =>
    volume.projected?.sources?.some(({ clusterTrustBundle }) => clusterTrustBundle),
  )
}

function dropFromContainer(container: Container, before: readonly Container[]): void {
  if (!before.some(({ resizePolicy }) => resizePolicy)) drop(container, 'resizePolicy')
  const context: SecurityContext | undefined = container.securityContext
  const hadProcMount = before.some(({ securityContext }) => securityContext?.procMount)
  if (context?.procMount !== undefined && context.procMount !== 'Default' && !hadProcMount) {
    context.procMount = 'Default'
  }
}
