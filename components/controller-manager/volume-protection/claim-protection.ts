/** Keeps a deleted claim until no pod uses it (upstream: pkg/controller/volume/pvcprotection). */
import type { PersistentVolumeClaim, Pod } from '../../api/generated/types.ts'
import { usesClaim } from '../../api/claim-use.ts'
import { volumeKeys } from '../../api/volume-binding.ts'
import { runController, source } from '../../client/controller.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { claimKeysOf, indexByClaim, podsOfClaim } from '../claim-pods.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { protect } from './protection.ts'

/** A claim that is kept for a pod which the cache does not show is looked at again. */
const lookAgainMs = 10_000

/** Runs until `signal` aborts. */
export async function runClaimProtection(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues } = context
  const claims = informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  const pods = informers.informer<Pod>(resources.pods)
  const podClient = client.resource<Pod>(resources.pods)
  indexByClaim(pods)
  const isKnownUse = (claim: PersistentVolumeClaim): boolean =>
    podsOfClaim(pods, keyOf(claim)).some((pod) => usesClaim(pod, claim))
  const isUsed = async (claim: PersistentVolumeClaim): Promise<boolean> => {
    if (isKnownUse(claim)) return true
    // A pod may have been scheduled since the cache was filled: the server has the last word.
    const { namespace = '' } = claim.metadata
    return (await podClient.list({ namespace })).items.some((pod) => usesClaim(pod, claim))
  }
  const protection = {
    client: client.resource<PersistentVolumeClaim>(resources.persistentVolumeClaims),
    finalizer: volumeKeys(dialect).claimProtection,
    isUsed,
  }
  const isDeleted = (key: string): boolean =>
    claims.get(key)?.metadata.deletionTimestamp !== undefined
  await runController(
    {
      name: 'persistentvolumeclaim-protection-controller',
      informers: [source(claims), source(pods, (pod) => claimKeysOf(pod).filter(isDeleted))],
      reconcile: async (key) => {
        const claim = claims.get(key)
        if (claim === undefined) return
        const isKept = await protect(protection, claim)
        // Of a pod that the server alone has shown, the cache may have had the last event already: the list may have been old.
        if (isKept && !isKnownUse(claim)) return { requeueAfterMs: lookAgainMs }
      },
      clock,
      log,
      queues,
    },
    signal,
  )
}

export const claimProtection: ControllerEntry = {
  name: 'persistentvolumeclaim-protection-controller',
  aliases: ['pvc-protection'],
  defaultOn: true,
  start: runClaimProtection,
}
