/**
 * Says of a claim whose size was raised that its provisioner has to expand the volume: there are no in-tree plugins that this
 * controller could expand with (upstream: pkg/controller/volume/expand).
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../api/generated/types.ts'
import { requestedStorage, storageIn } from '../api/volume-binding.ts'
import { runController, source } from '../client/controller.ts'
import { compareQuantities } from '../machinery/values/quantity.ts'
import type { ControllerContext, ControllerEntry } from './controller-context.ts'

/** Runs until `signal` aborts. */
export async function runVolumeExpander(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { informers, resources, clock, log, queues, recorder } = context
  const claims = informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  const volumes = informers.informer<PersistentVolume>(resources.persistentVolumes)
  /** Sizes that were asked for and recorded, by the claim's key. */
  const recorded = new Map<string, string>()
  const reconcile = async (key: string): Promise<void> => {
    const claim = claims.get(key)
    const volume = volumes.get(claim?.spec?.volumeName ?? '')
    const isBound =
      claim?.status?.phase === 'Bound' && volume?.spec?.claimRef?.uid === claim.metadata.uid
    const size = claim === undefined ? '0' : requestedStorage(claim)
    const isRaised = compareQuantities(size, storageIn(claim?.status?.capacity)) > 0
    if (claim === undefined || !isBound || !isRaised) {
      recorded.delete(key)
      return
    }
    const wanted = `${claim.metadata.uid} ${size}`
    if (recorded.get(key) === wanted) return
    recorded.set(key, wanted)
    const message = 'waiting for an external controller to expand this PVC'
    recorder.record(claim, { type: 'Normal', reason: 'ExternalExpanding', message })
  }
  await runController(
    {
      name: 'persistentvolume-expander-controller',
      informers: [source(claims), source(volumes, () => [])],
      reconcile,
      clock,
      log,
      queues,
    },
    signal,
  )
}

export const volumeExpander: ControllerEntry = {
  name: 'persistentvolume-expander-controller',
  aliases: ['persistentvolume-expander'],
  eventSource: 'volume_expand',
  defaultOn: true,
  start: runVolumeExpander,
}
