/** VolumeBinder: writes what a pod's claims were promised, and waits until they are bound (upstream: volumebinding/binder.go BindPodVolumes). */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts'
import { referenceToClaim } from '../../api/volume-binding.ts'
import type { VolumeKeys } from '../../api/volume-binding.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { messageOf } from '../../component-base/log.ts'
import type { Clock } from '../../component-base/clock.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { isFullyBound } from './volume-plan.ts'
import type { VolumePlan } from './volume-plan.ts'

export interface VolumeBinder {
  /**
   * Rejects when one of these claims is not the pod's any more, but one that has come after it under its name. Upstream relies on its cache: a
   * scheduler that was cut off would bind the pod beside a claim that waits for its first consumer, for good.
   */
  confirm(claims: readonly PersistentVolumeClaim[]): Promise<void>
  /** Resolves once every claim is bound. Rejects when a write fails, a claim cannot be bound on the node, or time is up. */
  bind(plan: VolumePlan, nodeName: string, signal: AbortSignal): Promise<void>
}

export interface VolumeBinderOptions {
  readonly claims: Informer<PersistentVolumeClaim>
  readonly claimClient: ResourceClient<PersistentVolumeClaim>
  readonly volumeClient: ResourceClient<PersistentVolume>
  readonly keys: VolumeKeys
  readonly clock: Clock
  readonly timeoutMs: number
}

function versionOf({ metadata }: PersistentVolumeClaim): number {
  return Number(metadata.resourceVersion ?? 0)
}

function annotated<T extends PersistentVolume | PersistentVolumeClaim>(
  object: T,
  added: Readonly<Record<string, string>>,
): T {
  const { metadata } = object
  const annotations = { ...metadata.annotations, ...added }
  return { ...object, metadata: { ...metadata, annotations } }
}

/** A claim to wait for, and the node that it must stay selected for; older states in the cache say nothing about that. */
interface Awaited {
  readonly key: string
  readonly selectedNode?: string
  readonly sinceVersion: number
}

export function createVolumeBinder(options: VolumeBinderOptions): VolumeBinder {
  const { claims, keys, clock, timeoutMs } = options
  const wakes = new Set<() => void>()
  claims.onEvent(() => {
    for (const wake of wakes) wake()
  })
  /** Throws when the claim will not be bound as planned. */
  const isBound = ({ key, selectedNode, sinceVersion }: Awaited): boolean => {
    const claim = claims.get(key)
    if (claim === undefined) throw new Error(`pvc "${key}" is gone`)
    if (isFullyBound(claim, keys)) return true
    const now = claim.metadata.annotations?.[keys.selectedNode]
    if (selectedNode !== undefined && versionOf(claim) >= sinceVersion && now !== selectedNode)
      throw new Error(
        `selectedNode annotation value "${now ?? ''}" not set to scheduled node "${selectedNode}"`,
      )
    return false
  }
  return {
    confirm: async (bound) => {
      await Promise.all(bound.map((claim) => confirm(options, claim)))
    },
    bind: async (plan, nodeName, signal) => {
      const awaited = await write(options, plan, nodeName)
      const untilMs = clock.now() + timeoutMs
      const stop = new AbortController()
      const either = AbortSignal.any([signal, stop.signal])
      const { promise: late, reject: end } = Promise.withResolvers<never>()
      late.catch(() => {})
      clock.sleep(untilMs - clock.now(), either).then(
        () => end(new Error('timed out waiting for the condition')),
        () => end(signal.reason),
      )
      try {
        while (!awaited.every(isBound)) {
          const { promise: changed, resolve: wake } = Promise.withResolvers<void>()
          wakes.add(wake)
          try {
            await Promise.race([changed, late])
          } finally {
            wakes.delete(wake)
          }
        }
      } catch (error) {
        throw new Error(`binding volumes: ${messageOf(error)}`, {
          cause: error,
        })
      } finally {
        stop.abort(new Error('no longer waiting'))
      }
    },
  }
}

async function confirm(
  { claimClient }: VolumeBinderOptions,
  { metadata }: PersistentVolumeClaim,
): Promise<void> {
  const { namespace = '', name = '' } = metadata
  const { metadata: now } = await claimClient.get({ namespace, name })
  if (now.uid !== metadata.uid) throw new Error(`pvc "${namespace}/${name}" was made anew`)
}

/** The volumes are reserved for their claims first; then provisioners are asked for the others. */
async function write(
  { claimClient, volumeClient, keys }: VolumeBinderOptions,
  { taken, made }: VolumePlan,
  nodeName: string,
): Promise<Awaited[]> {
  const awaited: Awaited[] = []
  for (const { claim, volume } of taken) {
    const reserved = { ...volume, spec: { ...volume.spec, claimRef: referenceToClaim(claim) } }
    const isChoice = volume.spec?.claimRef === undefined
    await volumeClient.update(
      isChoice ? annotated(reserved, { [keys.boundByController]: 'yes' }) : reserved,
    )
    awaited.push({ key: keyOf(claim), sinceVersion: 0 })
  }
  for (const claim of made) {
    const isSelected = claim.metadata.annotations?.[keys.selectedNode] === nodeName
    const selected = isSelected
      ? claim
      : await claimClient.update(annotated(claim, { [keys.selectedNode]: nodeName }))
    awaited.push({ key: keyOf(claim), selectedNode: nodeName, sinceVersion: versionOf(selected) })
  }
  return awaited
}
