/** Which volumes must be attached to a node: those of CSI drivers that its pods use (upstream: attachdetach/populator, pkg/volume/csi). Pure. */
import { createHash } from 'node:crypto'
import { labelKey, type Dialect } from '../../api/dialect.ts'
import type {
  AttachedVolume,
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
} from '../../api/generated/types.ts'
import { claimKeysOf } from '../claim-pods.ts'
import { isTerminal } from '../pod-state.ts'

export interface WantedAttachment {
  /** Of the VolumeAttachment. */
  readonly name: string
  readonly volume: PersistentVolume
  readonly driver: string
  readonly handle: string
  /** Those that use it there. */
  readonly pods: readonly Pod[]
}

/** What the decision reads. */
export interface AttachmentCaches {
  readonly claim: (key: string) => PersistentVolumeClaim | undefined
  readonly volume: (name: string) => PersistentVolume | undefined
  readonly driver: (name: string) => CSIDriver | undefined
}

function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`
}

/** Whether this controller made the attachment: those of others have other names. Without its volume, the form of the name decides. */
export function isOwnAttachment(
  { metadata, spec }: VolumeAttachment,
  caches: Pick<AttachmentCaches, 'volume'>,
): boolean {
  const volumeName = spec.source.persistentVolumeName
  if (volumeName === undefined) return false
  const volume = caches.volume(volumeName)
  const handle = volume?.spec?.csi?.volumeHandle
  if (handle !== undefined)
    return metadata.name === attachmentName(handle, spec.attacher, spec.nodeName)
  return volume === undefined && /^csi-[0-9a-f]{64}$/.test(metadata.name ?? '')
}

/** The volume as `status.volumesAttached` of the node names it. */
export function attachedVolume(
  { driver, handle }: Pick<WantedAttachment, 'driver' | 'handle'>,
  dialect: Dialect,
): AttachedVolume {
  return { name: `${labelKey(dialect, '', 'csi')}/${driver}^${handle}`, devicePath: '' }
}

/** By the name of the attachment. Other volumes than those of CSI drivers need none. */
export function wantedAttachments(
  pods: readonly Pod[],
  nodeName: string,
  caches: AttachmentCaches,
): Map<string, WantedAttachment> {
  const wanted = new Map<string, WantedAttachment>()
  for (const pod of pods) {
    if (isTerminal(pod)) continue
    for (const key of claimKeysOf(pod)) {
      const claim = caches.claim(key)
      const volume = caches.volume(claim?.spec?.volumeName ?? '')
      const csi = volume?.spec?.csi
      if (volume === undefined || csi === undefined || claim?.status?.phase !== 'Bound') continue
      if (caches.driver(csi.driver)?.spec.attachRequired === false) continue
      const name = attachmentName(csi.volumeHandle, csi.driver, nodeName)
      const users = [...(wanted.get(name)?.pods ?? []), pod]
      wanted.set(name, { name, volume, driver: csi.driver, handle: csi.volumeHandle, pods: users })
    }
  }
  return wanted
}

/** Whether only one node may have the volume. */
export function isExclusive({ spec }: PersistentVolume): boolean {
  const modes = spec?.accessModes ?? []
  return modes.length > 0 && !modes.some((mode) => mode.endsWith('Many'))
}

/** Whether another node has the volume, or is to have it. */
export function isElsewhere(
  { volume }: WantedAttachment,
  nodeName: string,
  attachments: readonly VolumeAttachment[],
): boolean {
  return attachments.some(
    ({ spec }) =>
      spec.source.persistentVolumeName === volume.metadata.name && spec.nodeName !== nodeName,
  )
}
