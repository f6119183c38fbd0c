/** One volume: its phase, and what becomes of it when its claim is gone (upstream: pv_controller.go syncVolume, reclaimVolume). */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { differInVolumeMode, volumeClassName } from '../../api/volume-binding.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { pluginOfVolume } from '../volume-plugin.ts'
import type { BinderTools } from './binder-tools.ts'
import { setVolumePhase, unbindVolume } from './binding.ts'

export async function syncVolume(tools: BinderTools, volume: PersistentVolume): Promise<void> {
  const { keys } = tools
  if (!volume.spec?.claimRef?.uid) {
    await setVolumePhase(tools, volume, 'Available')
    return
  }
  const claim = await claimOf(tools, volume)
  if (claim === undefined) {
    await release(tools, volume)
  } else if (!claim.spec?.volumeName) {
    if (differInVolumeMode(volume, claim)) recordModes(tools, volume, claim)
    else tools.queueClaim(keyOf(claim))
  } else if (claim.spec.volumeName === volume.metadata.name) {
    await setVolumePhase(tools, volume, 'Bound')
  } else if (
    volume.metadata.annotations?.[keys.provisionedBy] !== undefined &&
    volume.spec.persistentVolumeReclaimPolicy === 'Delete'
  ) {
    await release(tools, volume)
  } else {
    await unbindVolume(tools, volume)
  }
}

/** The claim that the volume names, by its uid; the server is asked before a volume is released. */
async function claimOf(
  { claims, claimClient }: BinderTools,
  { spec, status }: PersistentVolume,
): Promise<PersistentVolumeClaim | undefined> {
  const { namespace = '', name = '', uid } = spec?.claimRef ?? {}
  const cached = claims.get(`${namespace}/${name}`)
  if (cached?.metadata.uid === uid) return cached
  if (status?.phase === 'Released' || status?.phase === 'Failed') return undefined
  try {
    const found = await claimClient.get({ namespace, name })
    return found.metadata.uid === uid ? found : undefined
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined
    throw error
  }
}

function recordModes(
  { recorder }: BinderTools,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): void {
  const why = 'due to incompatible volumeMode.'
  const warning = { type: 'Warning', reason: 'VolumeMismatch' } as const
  const ofVolume = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" ${why}`
  const ofClaim = `Cannot bind PersistentVolume "${volume.metadata.name}" to requested PersistentVolumeClaim ${why}`
  recorder.record(volume, { ...warning, message: ofVolume })
  recorder.record(claim, { ...warning, message: ofClaim })
}

/** The claim is gone, or has another volume: the reclaim policy decides. A phase of Failed stays, so that users see it. */
async function release(tools: BinderTools, volume: PersistentVolume): Promise<void> {
  const released =
    volume.status?.phase === 'Failed' ? volume : await setVolumePhase(tools, volume, 'Released')
  const fail = (reason: string, message: string): Promise<PersistentVolume> =>
    setVolumePhase(tools, released, 'Failed', { type: 'Warning', reason, message })
  switch (volume.spec?.persistentVolumeReclaimPolicy ?? 'Retain') {
    case 'Retain':
      return
    case 'Recycle':
      await fail('VolumeFailedRecycle', 'No recycler plugin found for the volume!')
      return
    case 'Delete': {
      const outcome = deletionOf(tools, released)
      tools.times.begin(keyOf(volume), deleterOf(tools, volume, outcome), 'delete')
      if (outcome === 'external') return
      if (outcome === 'delete') await deleteVolume(tools, released)
      else {
        tools.times.fail(keyOf(volume))
        await fail('VolumeFailedDelete', outcome.failure)
      }
      return
    }
    default:
      await fail(
        'VolumeUnknownReclaimPolicy',
        'Volume has unrecognized PersistentVolumeReclaimPolicy',
      )
  }
}

type Deletion = 'external' | 'delete' | { readonly failure: string }

/** The deleter's name as metrics have it: of an external one the provisioner of the volume's class, which users cannot make up. */
function deleterOf(
  { classes, dialect }: BinderTools,
  volume: PersistentVolume,
  deletion: Deletion,
): string {
  if (deletion === 'delete') return pluginOfVolume(volume, dialect)
  if (deletion !== 'external') return 'N/A'
  return classes.get(volumeClassName(volume, dialect))?.provisioner ?? 'N/A'
}

/**
 * Who deletes a volume: its provisioner, this controller (host paths below /tmp, as upstream's plugin, and simulated: no file
 * is touched), or no available deleter (`failure`). Pure.
 */
function deletionOf(
  { keys, dialect }: BinderTools,
  { metadata, spec }: PersistentVolume,
): Deletion {
  const provisioner = metadata.annotations?.[keys.provisionedBy]
  if (provisioner && !provisioner.startsWith(labelKey(dialect, '', ''))) return 'external'
  const path = spec?.hostPath?.path
  const noDeleter = `error getting deleter volume plugin for volume "${metadata.name}": no deletable volume plugin matched`
  if (path === undefined) return { failure: noDeleter }
  if (/^\/tmp\/.+/.test(path)) return 'delete'
  return { failure: `host_path deleter only supports /tmp/.+ but received provided ${path}` }
}

async function deleteVolume(
  { volumeClient }: BinderTools,
  { metadata }: PersistentVolume,
): Promise<void> {
  if (metadata.deletionTimestamp !== undefined) return
  const { name = '', uid = '' } = metadata
  try {
    await volumeClient.delete({ name }, { preconditions: { uid } })
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
}
