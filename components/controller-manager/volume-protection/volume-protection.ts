/** Keeps a deleted volume until it is bound to no claim (upstream: pkg/controller/volume/pvprotection). */
import type { PersistentVolume } from '../../api/generated/types.ts'
import { volumeKeys } from '../../api/volume-binding.ts'
import { runController, source } from '../../client/controller.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { protect } from './protection.ts'

/** Runs until `signal` aborts. */
export async function runVolumeProtection(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues } = context
  const volumes = informers.informer<PersistentVolume>(resources.persistentVolumes)
  const protection = {
    client: client.resource<PersistentVolume>(resources.persistentVolumes),
    finalizer: volumeKeys(dialect).volumeProtection,
    isUsed: ({ status }: PersistentVolume) => status?.phase === 'Bound',
  }
  await runController(
    {
      name: 'persistentvolume-protection-controller',
      informers: [source(volumes)],
      reconcile: async (name) => {
        const volume = volumes.get(name)
        if (volume !== undefined) await protect(protection, volume)
      },
      clock,
      log,
      queues,
    },
    signal,
  )
}

export const volumeProtection: ControllerEntry = {
  name: 'persistentvolume-protection-controller',
  aliases: ['pv-protection'],
  defaultOn: true,
  start: runVolumeProtection,
}
