/** Columns of persistent volumes and claims. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { dialects, labelKey } from '../dialect.ts'
import { ageColumn, column, nameColumn, tablePrinter } from './table-printer.ts'

const modes: readonly (readonly [string, string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

function accessModes(given: readonly string[] | undefined): string {
  return modes
    .filter(([mode]) => given?.includes(mode))
    .map(([, short]) => short)
    .join(',')
}

const oldClassKeys = Object.values(dialects).map((dialect) =>
  labelKey(dialect, 'volume.beta', 'storage-class'),
)

/** The class, where the annotation that preceded the field wins. */
function classOf(object: KubeObject): string {
  for (const key of oldClassKeys) {
    const old = object.metadata.annotations?.[key]
    if (old !== undefined) return old
  }
  return object['spec']?.storageClassName ?? ''
}

function phaseOf(object: KubeObject): string {
  return object.metadata.deletionTimestamp === undefined
    ? (object['status']?.phase ?? '')
    : 'Terminating'
}

const statusColumn = column(['Status', 'Phase, or that it is being deleted.'], phaseOf)
const classColumn = column(['StorageClass', 'Class it belongs to.'], classOf)
const attributesColumn = column(
  ['VolumeAttributesClass', 'Class of its changeable attributes.'],
  (object) => object['spec']?.volumeAttributesClassName ?? '<unset>',
)
const modeColumn = column(
  ['VolumeMode', 'File system or block device.'],
  (object) => object['spec']?.volumeMode ?? '<unset>',
  { wide: true },
)

export const volumePrinter = tablePrinter(
  nameColumn,
  column(['Capacity', 'Size of the volume.'], (volume) =>
    String(volume['spec']?.capacity?.storage ?? '0'),
  ),
  column(['Access Modes', 'How it can be mounted.'], (volume) =>
    accessModes(volume['spec']?.accessModes),
  ),
  column(
    ['Reclaim Policy', 'What becomes of it when its claim goes.'],
    (volume) => volume['spec']?.persistentVolumeReclaimPolicy ?? '',
  ),
  statusColumn,
  column(['Claim', 'Claim it is bound to.'], (volume) => {
    const claim = volume['spec']?.claimRef
    return claim === undefined ? '' : `${claim.namespace ?? ''}/${claim.name ?? ''}`
  }),
  classColumn,
  attributesColumn,
  column(['Reason', 'Why it is in its phase.'], (volume) => volume['status']?.reason ?? ''),
  ageColumn,
  modeColumn,
)

export const volumeClaimPrinter = tablePrinter(
  nameColumn,
  statusColumn,
  column(['Volume', 'Volume it is bound to.'], (claim) => claim['spec']?.volumeName ?? ''),
  column(['Capacity', 'Size of the bound volume.'], (claim) =>
    claim['spec']?.volumeName ? String(claim['status']?.capacity?.storage ?? '0') : '',
  ),
  column(['Access Modes', 'How the bound volume can be mounted.'], (claim) =>
    claim['spec']?.volumeName ? accessModes(claim['status']?.accessModes) : '',
  ),
  classColumn,
  attributesColumn,
  ageColumn,
  modeColumn,
)
