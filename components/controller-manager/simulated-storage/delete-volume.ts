/** Deletes released volumes of the simulated provisioner (upstream: sig-storage-lib-external-provisioner deleteVolumeOperation; KEP-2644). */
import type { PersistentVolume } from '../../api/generated/types.ts'
import { simulatedProvisioner, storageWish } from '../../api/simulation.ts'
import type { Result } from '../../client/controller.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { simulatedFault } from './storage-tools.ts'
import type { StorageTools } from './storage-tools.ts'

export async function deleteVolume(tools: StorageTools, name: string): Promise<Result | void> {
  const { volumes, classes, recorder, keys, deleting } = tools
  const volume = volumes.get(name)
  if (volume?.metadata.annotations?.[keys.provisionedBy] !== simulatedProvisioner) {
    deleting.forget(name)
    return
  }
  const { metadata, spec, status } = volume
  const isDeleted = spec?.persistentVolumeReclaimPolicy === 'Delete'
  const isHeld = metadata.finalizers?.includes(keys.externalProvisioner) === true
  if (isDeleted !== isHeld && metadata.deletionTimestamp === undefined) {
    await hold(tools, volume, isDeleted)
    return
  }
  const isOver = metadata.deletionTimestamp !== undefined && !isHeld
  if (!isDeleted || isOver || status?.phase !== 'Released') {
    deleting.forget(name)
    return
  }
  deleting.hasBegun(name, metadata.uid ?? '')
  const { parameters } = classes.get(spec?.storageClassName ?? '') ?? {}
  const state = deleting.advance(name, storageWish('delete', metadata.annotations, parameters))
  if (state.kind === 'waiting') return { requeueAfterMs: state.leftMs }
  if (state.kind === 'failed') {
    const message = simulatedFault
    recorder.record(volume, { type: 'Warning', reason: 'VolumeFailedDelete', message })
    return { requeueAfterMs: state.retryInMs }
  }
  await remove(tools, volume)
  deleting.forget(name)
}

/** The finalizer is on volumes that are deleted with their claim, and on no others: the policy may change. */
async function hold(
  { volumeClient, keys }: StorageTools,
  volume: PersistentVolume,
  isHeld: boolean,
): Promise<void> {
  const { metadata } = volume
  const others = (metadata.finalizers ?? []).filter((one) => one !== keys.externalProvisioner)
  const finalizers = isHeld ? [...others, keys.externalProvisioner] : others
  await volumeClient.update({ ...volume, metadata: { ...metadata, finalizers } })
}

async function remove(tools: StorageTools, { metadata }: PersistentVolume): Promise<void> {
  const { volumeClient } = tools
  const { name = '', uid = '', deletionTimestamp } = metadata
  try {
    if (deletionTimestamp === undefined)
      await volumeClient.delete({ name }, { preconditions: { uid } })
    const newest = await volumeClient.get({ name })
    if (newest.metadata.uid === uid) await hold(tools, newest, false)
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
}
