/** The claim behind a volume of a pod. Pure. */
import type { Pod } from '../../api/generated/types.ts'

/** `namespace/name` of the claim; undefined for a volume without one. */
export function podVolumeClaim({ metadata, spec }: Pod, volumeName: string): string | undefined {
  const volume = spec?.volumes?.find(({ name }) => name === volumeName)
  const named = volume?.persistentVolumeClaim?.claimName
  const own = volume?.ephemeral === undefined ? undefined : `${metadata.name}-${volumeName}`
  const name = named ?? own
  return name === undefined ? undefined : `${metadata.namespace ?? ''}/${name}`
}
