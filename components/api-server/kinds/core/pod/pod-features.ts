/**
 * Fields of Pods whose feature is off in release 1.32 unless asked for: a client may send them, the server drops them,
 * except from objects that have them already.
 */
import type { Container, PodSpec, SecurityContext } from '../../../../api/generated/types.ts'

const podFields = ['resources', 'resourceClaims', 'hostUsers'] as const
const podContextFields = ['supplementalGroupsPolicy', 'seLinuxChangePolicy'] as const

// Deleting an absent field is slow, and these fields are nearly always absent.
function drop<T extends object>(from: T | undefined, field: keyof T): void {
  if (from?.[field] !== undefined) delete from[field]
}

/** Changes `spec`, which is a draft. `old` is the spec before an update. */
export function dropDisabledPodFields(spec: PodSpec, old?: PodSpec): void {
  for (const field of podFields) if (old?.[field] === undefined) drop(spec, field)
  for (const field of podContextFields) {
    if (old?.securityContext?.[field] === undefined) drop(spec.securityContext, field)
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

function hasTrustBundle(spec: PodSpec | undefined): boolean {
  return (spec?.volumes ?? []).some((volume) =>
    volume.projected?.sources?.some(({ clusterTrustBundle }) => clusterTrustBundle),
  )
}

function dropFromContainer(container: Container, before: readonly Container[]): void {
  if (!before.some(({ resizePolicy }) => resizePolicy)) drop(container, 'resizePolicy')
  if (!before.some(({ resources }) => resources?.claims)) drop(container.resources, 'claims')
  const context: SecurityContext | undefined = container.securityContext
  const hadProcMount = before.some(({ securityContext }) => securityContext?.procMount)
  if (context?.procMount !== undefined && context.procMount !== 'Default' && !hadProcMount) {
    context.procMount = 'Default'
  }
}
