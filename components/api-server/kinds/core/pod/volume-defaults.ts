/** Defaults of a Pod's volumes and of the volume sources that PersistentVolumes share with them. */
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeSource,
  Volume,
  VolumeProjection,
} from '../../../../api/generated/types.ts'
import { roundUpAmounts } from '../../rules/quantities.ts'
import { defaultPullPolicy } from './image-pull-policy.ts'

const readableByAll = 0o644
const tokenLifetimeSeconds = 3600

export function defaultVolume(volume: Volume): void {
  if (hasNoSource(volume)) volume.emptyDir = {}
  if (volume.secret) volume.secret.defaultMode ??= readableByAll
  if (volume.configMap) volume.configMap.defaultMode ??= readableByAll
  if (volume.downwardAPI) {
    volume.downwardAPI.defaultMode ??= readableByAll
    for (const { fieldRef } of volume.downwardAPI.items ?? []) {
      if (fieldRef) fieldRef.apiVersion ||= 'v1'
    }
  }
  if (volume.projected) {
    volume.projected.defaultMode ??= readableByAll
    for (const projection of volume.projected.sources ?? []) defaultProjection(projection)
  }
  if (volume.ephemeral?.volumeClaimTemplate) {
    defaultClaimSpec(volume.ephemeral.volumeClaimTemplate.spec)
  }
  if (volume.image) volume.image.pullPolicy ||= defaultPullPolicy(volume.image.reference ?? '')
  defaultVolumeSource(volume)
}

function hasNoSource(volume: Volume): boolean {
  for (const key in volume) {
    if (key !== 'name' && volume[key as keyof Volume] !== undefined) return false
  }
  return true
}

function defaultProjection({ serviceAccountToken, downwardAPI }: VolumeProjection): void {
  if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= tokenLifetimeSeconds
  for (const { fieldRef } of downwardAPI?.items ?? []) {
    if (fieldRef) fieldRef.apiVersion ||= 'v1'
  }
}

/** The sources that volumes of Pods and PersistentVolumes have in common. */
export function defaultVolumeSource(source: Volume | PersistentVolumeSource): void {
  if (source.hostPath) source.hostPath.type ??= ''
  if (source.iscsi) source.iscsi.iscsiInterface ||= 'default'
  if (source.rbd) {
    source.rbd.pool ||= 'rbd'
    source.rbd.user ||= 'admin'
    source.rbd.keyring ||= '/etc/ceph/keyring'
  }
  if (source.azureDisk) {
    source.azureDisk.cachingMode ??= 'ReadWrite'
    source.azureDisk.kind ??= 'Shared'
    source.azureDisk.fsType ??= 'ext4'
    source.azureDisk.readOnly ??= false
  }
  if (source.scaleIO) {
    source.scaleIO.storageMode ||= 'ThinProvisioned'
    source.scaleIO.fsType ||= 'xfs'
  }
}

export function defaultClaimSpec(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem'
  roundUpAmounts(spec.resources?.limits)
  roundUpAmounts(spec.resources?.requests)
}
