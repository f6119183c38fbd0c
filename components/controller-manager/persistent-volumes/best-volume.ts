/** The volume that the binder takes for a claim (upstream: persistentvolume/index.go). Pure. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts'
import { matchingVolume, offersAccessModes } from '../../api/volume-binding.ts'
import type { MatchOptions } from '../../api/volume-binding.ts'

/** Volumes with few access modes come first, so that those with many are left to claims that need them. */
export function bestVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  options: MatchOptions,
): PersistentVolume | undefined {
  const groups = new Map<number, PersistentVolume[]>()
  for (const volume of volumes) {
    if (!offersAccessModes(volume, claim)) continue
    const count = new Set(volume.spec?.accessModes).size
    const group = groups.get(count) ?? []
    groups.set(count, group)
    group.push(volume)
  }
  for (const [, group] of [...groups].toSorted(([a], [b]) => a - b)) {
    const found = matchingVolume(claim, group, options)
    if (found !== undefined) return found
  }
  return undefined
}
