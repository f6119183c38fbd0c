/**
 * How claims and volumes name each other, and which volume satisfies a claim (upstream: component-helpers/storage/volume). Pure.
 */
import { compareQuantities } from '../machinery/values/quantity.ts'
import { labelSelectorFrom, matchesLabels } from '../machinery/selectors/label-selector.ts'
import { labelKey, type Dialect } from './dialect.ts'
import type { ObjectReference, PersistentVolume, PersistentVolumeClaim } from './generated/types.ts'
import { claimClassName } from './default-classes.ts'

/** Annotations and finalizers of claims and volumes. */
export interface VolumeKeys {
  /** On a claim: it was bound once, so a missing volume is a loss. */
  readonly bindCompleted: string
  /** On a claim or a volume: the binding is a controller's choice, not a user's. */
  readonly boundByController: string
  /** On a volume: the provisioner that made it. */
  readonly provisionedBy: string
  /** On a claim: the provisioner that is to make its volume. */
  readonly storageProvisioner: string
  /** The older name of `storageProvisioner`, written beside it. */
  readonly betaStorageProvisioner: string
  /** On a claim: the node that the scheduler chose for its first pod. */
  readonly selectedNode: string
  readonly claimProtection: string
  readonly attributesClassProtection: string
  readonly volumeProtection: string
  /** On a volume: its provisioner still has to delete what is behind it. */
  readonly externalProvisioner: string
}

export function volumeKeys(dialect: Dialect): VolumeKeys {
  const key = (subdomain: string, name: string): string => labelKey(dialect, subdomain, name)
  return {
    bindCompleted: key('pv', 'bind-completed'),
    boundByController: key('pv', 'bound-by-controller'),
    provisionedBy: key('pv', 'provisioned-by'),
    storageProvisioner: key('volume', 'storage-provisioner'),
    betaStorageProvisioner: key('volume.beta', 'storage-provisioner'),
    selectedNode: key('volume', 'selected-node'),
    claimProtection: key('', 'pvc-protection'),
    attributesClassProtection: key('', 'vac-protection'),
    volumeProtection: key('', 'pv-protection'),
    externalProvisioner: key('external-provisioner.volume', 'finalizer'),
  }
}

/** The annotation of old clients wins over the field; '' for a volume of no class. */
export function volumeClassName({ metadata, spec }: PersistentVolume, dialect: Dialect): string {
  const older = labelKey(dialect, 'volume.beta', 'storage-class')
  return metadata.annotations?.[older] ?? spec?.storageClassName ?? ''
}

/** Whether the volume names this claim; a reference without a uid is a user's, and names any claim of that name. */
export function isBoundTo(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const ref = volume.spec?.claimRef
  const { namespace, name, uid } = claim.metadata
  if (ref === undefined || ref.name !== name || ref.namespace !== namespace) return false
  return !ref.uid || ref.uid === uid
}

/** A reference to the claim, as volumes hold it. */
export function referenceToClaim({
  apiVersion = 'v1',
  kind = 'PersistentVolumeClaim',
  metadata,
}: PersistentVolumeClaim): ObjectReference {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = metadata
  return { kind, namespace, name, uid, apiVersion, resourceVersion }
}

/** The storage in a list of amounts; '0' when it has none. */
export function storageIn(amounts: Readonly<Record<string, string>> | undefined): string {
  return amounts?.['storage'] ?? '0'
}

/** What the claim asks for. */
export function requestedStorage({ spec }: PersistentVolumeClaim): string {
  return storageIn(spec?.resources?.requests)
}

/** Whether the volume has all access modes that the claim asks for. */
export function offersAccessModes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const offered = volume.spec?.accessModes ?? []
  return (claim.spec?.accessModes ?? []).every((mode) => offered.includes(mode))
}

/** Whether one is a filesystem and the other a block device. */
export function differInVolumeMode(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): boolean {
  return (volume.spec?.volumeMode ?? 'Filesystem') !== (claim.spec?.volumeMode ?? 'Filesystem')
}

/** Whether they name different classes of attributes (KEP-3751). With the gate off the API server keeps neither's. */
export function differInAttributesClass(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): boolean {
  const offered = volume.spec?.volumeAttributesClassName ?? ''
  return offered !== (claim.spec?.volumeAttributesClassName ?? '')
}

/** Whether the volume is as big as the claim asks for. */
export function isLargeEnough(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return compareQuantities(storageIn(volume.spec?.capacity), requestedStorage(claim)) >= 0
}

export interface MatchOptions {
  readonly dialect: Dialect
  /** In the scheduler: whether the volume can be reached from the node in question. */
  readonly isReachable?: (volume: PersistentVolume) => boolean
  /** In the scheduler: names of volumes that other claims of the pod take. */
  readonly taken?: ReadonlySet<string>
  /** Only volumes that name the claim already: the scheduler chooses among the others. */
  readonly onlyPreBound?: boolean
}

/**
 * The volume that names the claim, if it is big enough; else the smallest free one that satisfies the claim. Undefined for none.
 * Without `isReachable`, access modes are the caller's concern. (Upstream: FindMatchingVolume.)
 */
export function matchingVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  options: MatchOptions,
): PersistentVolume | undefined {
  const { dialect, isReachable, taken, onlyPreBound = false } = options
  const className = claimClassName(claim, dialect)
  const selector = claim.spec?.selector
  const labels = selector === undefined ? undefined : labelSelectorFrom(selector)
  let smallest: PersistentVolume | undefined
  for (const volume of volumes) {
    const { metadata, spec, status } = volume
    if (taken?.has(metadata.name ?? '') || differInVolumeMode(volume, claim)) continue
    if (metadata.deletionTimestamp !== undefined) continue
    const isNear = isReachable?.(volume) ?? true
    if (isBoundTo(volume, claim)) {
      if (!isLargeEnough(volume, claim)) continue
      return isNear ? volume : undefined
    }
    if (onlyPreBound || spec?.claimRef !== undefined || !isNear) continue
    // Its phase is still to be written: binding it now would lose a race with that.
    if (status?.phase !== 'Available') continue
    if (labels !== undefined && !matchesLabels(labels, metadata.labels)) continue
    if (volumeClassName(volume, dialect) !== className) continue
    if (differInAttributesClass(volume, claim)) continue
    if (isReachable !== undefined && !offersAccessModes(volume, claim)) continue
    if (!isLargeEnough(volume, claim)) continue
    const isSmaller =
      smallest === undefined ||
      compareQuantities(storageIn(spec?.capacity), storageIn(smallest.spec?.capacity)) < 0
    if (isSmaller) smallest = volume
  }
  return smallest
}
