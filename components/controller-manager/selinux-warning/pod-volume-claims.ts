/** The claims behind the volumes of a pod. Pure. */
import type { Pod } from '../../api/generated/types.ts'

/** `namespace/name` of the claim, by the volume's name in the pod; without the volumes that have none. */
export function podVolumeClaims({ metadata, spec }: Pod): ReadonlyMap<string, string> {
  const claims = new Map<string, string>()
  for (const { name, persistentVolumeClaim, ephemeral } of spec?.volumes ?? []) {
    const own = ephemeral === undefined ? undefined : `${metadata.name}-${name}`
    const claim = persistentVolumeClaim?.claimName ?? own
    if (claim !== undefined) claims.set(name, `${metadata.namespace ?? ''}/${claim}`)
  }
  return claims
}
