/** The volumes that a claim could have, and why it cannot (upstream: pv_controller.go, persistentvolume/index.go). Pure. */
import { claimClassName } from '../../components/api/default-classes.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../components/api/generated/types.ts'
import {
  differInAttributesClass,
  differInVolumeMode,
  isBoundTo,
  isLargeEnough,
  offersAccessModes,
  volumeClassName,
} from '../../components/api/volume-binding.ts'
import {
  labelSelectorFrom,
  matchesLabels,
} from '../../components/machinery/selectors/label-selector.ts'
import { seen } from './evidence.ts'
import type { Evidence } from './finding.ts'
import type { Related } from './related.ts'

/** As many volumes as are shown with what does not fit. */
const mostVolumes = 5

/** Why the claim cannot have the volume; undefined when it can. */
export function mismatch(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  { dialect }: Related,
): string | undefined {
  const { spec, metadata } = volume
  const ref = spec?.claimRef
  if (metadata.deletionTimestamp !== undefined) return 'is being deleted'
  if (ref !== undefined && !isBoundTo(volume, claim)) {
    return `is for the claim ${ref.namespace}/${ref.name}`
  }
  const className = volumeClassName(volume, dialect)
  if (className !== claimClassName(claim, dialect)) return `has the class "${className}"`
  if (!isLargeEnough(volume, claim)) return `has only ${spec?.capacity?.['storage']}`
  if (!offersAccessModes(volume, claim)) {
    return `has the access modes ${(spec?.accessModes ?? []).join(', ')}`
  }
  if (differInVolumeMode(volume, claim)) return `has the volume mode ${spec?.volumeMode}`
  if (differInAttributesClass(volume, claim)) return 'has another VolumeAttributesClass'
  const { selector } = claim.spec ?? {}
  if (selector !== undefined && !matchesLabels(labelSelectorFrom(selector), metadata.labels))
    return 'does not match the selector'
  return undefined
}

/** Unbound volumes, each with what keeps it from the claim. */
export function volumesSeen(claim: PersistentVolumeClaim, related: Related): Evidence[] {
  const free = related.persistentVolumes.filter(({ status }) => status?.phase === 'Available')
  return free.slice(0, mostVolumes).map((volume) => {
    const why = mismatch(volume, claim, related)
    return seen(volume, `is not bound, and ${why ?? 'satisfies the claim'}`)
  })
}
