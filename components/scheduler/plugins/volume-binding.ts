/**
 * VolumeBinding: a pod goes where its volumes are, or where they can be found or made; before the pod is bound, its claims are
 * (upstream: plugins/volumebinding; KEP-490 for claims that wait for their consumer).
 */
import type {
  CSIDriver,
  CSIStorageCapacity,
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../api/generated/types.ts'
import { podClaims } from '../../api/pod-references.ts'
import { resourcesOf } from '../../api/resources.ts'
import { volumeKeys } from '../../api/volume-binding.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { registered } from '../cluster-event.ts'
import type { RegisteredEvent } from '../cluster-event.ts'
import type { PluginArguments } from '../configuration/plugin-arguments.ts'
import type { Handle, PluginWith, Rejection } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import { claimsOf, classOf, usesClaim, volumeCaches } from './pod-volumes.ts'
import { createVolumeBinder } from './volume-binder.ts'
import { planVolumes, sortClaims, volumeReasons } from './volume-plan.ts'
import type { PlanCaches, Promised, SortedClaims, VolumePlan } from './volume-plan.ts'

const reject = (reason: string): Rejection => ({ reasons: [reason], resolvable: false })

const events: readonly RegisteredEvent[] = [
  registered('Node', ['Add', 'UpdateNodeLabel']),
  registered(
    'PersistentVolumeClaim',
    ['Add', 'Update'],
    ({ pod }, { now }) => now !== undefined && usesClaim(pod, now),
  ),
  registered('PersistentVolume', ['Add', 'Update']),
  registered('StorageClass', ['Add', 'Update']),
  registered('CSIDriver', ['Add', 'Update']),
  registered('CSIStorageCapacity', ['Add', 'Update']),
]

function planCaches(handle: Handle): PlanCaches {
  const { informers, dialect } = handle
  const { csiDrivers, csiStorageCapacities } = resourcesOf(dialect)
  return {
    ...volumeCaches(handle),
    drivers: informers.informer<CSIDriver>(csiDrivers),
    capacities: informers.informer<CSIStorageCapacity>(csiStorageCapacities),
  }
}

/** What pods that are not bound yet were promised. */
interface Promises extends Promised {
  /** Keeps the plan's volumes and nodes; the returned function gives them back, once. */
  keep(plan: VolumePlan, nodeName: string): () => void
}

function createPromises(): Promises {
  const volumes = new Set<string>()
  const nodes = new Map<string, string>()
  return {
    volumes,
    nodes,
    keep: ({ taken, made }, nodeName) => {
      for (const { volume } of taken) volumes.add(volume.metadata.name ?? '')
      for (const claim of made) nodes.set(keyOf(claim), nodeName)
      let isKept = true
      return () => {
        if (!isKept) return
        isKept = false
        for (const { volume } of taken) volumes.delete(volume.metadata.name ?? '')
        for (const claim of made) nodes.delete(keyOf(claim))
      }
    },
  }
}

function createBinder({ client, clock, dialect }: Handle, caches: PlanCaches, timeoutMs: number) {
  const { persistentVolumeClaims, persistentVolumes } = resourcesOf(dialect)
  return createVolumeBinder({
    claims: caches.claims,
    claimClient: client.resource<PersistentVolumeClaim>(persistentVolumeClaims),
    volumeClient: client.resource<PersistentVolume>(persistentVolumes),
    keys: volumeKeys(dialect),
    clock,
    timeoutMs,
  })
}

/** The pod's claims; a rejection when they keep it from every node, undefined when it has none. */
function sortedClaims(caches: PlanCaches, { pod }: PodInfo): SortedClaims | Rejection | undefined {
  if (podClaims(pod).length === 0) return undefined
  const claims = claimsOf(caches, pod)
  if ('fault' in claims) return reject(claims.fault)
  return sortClaims(caches, claims) ?? reject(volumeReasons.unbound)
}

export function volumeBinding(
  handle: Handle,
  { bindTimeoutSeconds }: PluginArguments['VolumeBinding'],
): PluginWith<'filter' | 'reserve'> {
  const caches = planCaches(handle)
  const keys = volumeKeys(handle.dialect)
  const promised = createPromises()
  const binder = createBinder(handle, caches, bindTimeoutSeconds * 1000)
  return {
    name: 'VolumeBinding',
    events,
    filter(pod) {
      const claims = sortedClaims(caches, pod)
      if (claims === undefined || 'reasons' in claims) return claims
      return (node) => {
        const plan = planVolumes(caches, claims, { node, promised, keys })
        return 'reason' in plan ? reject(plan.reason) : undefined
      }
    },
    reserve(pod, node) {
      const claims = sortedClaims(caches, pod)
      if (claims === undefined || 'reasons' in claims) return claims
      const consumed = claims.bound.filter(
        (claim) => classOf(caches, claim)?.volumeBindingMode === 'WaitForFirstConsumer',
      )
      if (claims.waiting.length === 0 && consumed.length === 0) return undefined
      const plan = planVolumes(caches, claims, { node, promised, keys })
      if ('reason' in plan) return reject(plan.reason)
      const release = promised.keep(plan, node.name)
      return {
        preBind: async (signal) => {
          await binder.confirm(consumed)
          await binder.bind(plan, node.name, signal)
          // The caches show the bindings now.
          release()
        },
        unreserve: release,
      }
    },
  }
}
