/**
 * Binds claims and volumes to each other (upstream: pkg/controller/volume/persistentvolume). One worker: two syncs at once could
 * choose one volume for two claims, and only the server would keep them apart.
 */
import { upkeepOf } from '../../component-base/clock.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '../../api/generated/types.ts'
import { claimClassName, namesClass } from '../../api/default-classes.ts'
import { volumeClassName, volumeKeys } from '../../api/volume-binding.ts'
import { runController, source } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { indexByClaim } from '../claim-pods.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import type { BinderTools } from './binder-tools.ts'
import { createNewestObjects } from './newest-objects.ts'
import { createOperationTimes } from './operation-times.ts'
import { syncClaim } from './sync-claim.ts'
import { syncVolume } from './sync-volume.ts'
import { untilReady } from '../until-ready.ts'
import { pluginOfVolume } from '../volume-plugin.ts'

const claimPrefix = 'claim:'
const volumePrefix = 'volume:'
const claimKey = (key: string): string => `${claimPrefix}${key}`
const volumeKey = (name: string): string => `${volumePrefix}${name}`

async function sync(tools: BinderTools, key: string): Promise<void> {
  if (key.startsWith(claimPrefix)) {
    const claim = tools.claims.get(key.slice(claimPrefix.length))
    if (claim !== undefined) await syncClaim(tools, claim)
  } else {
    const volume = tools.volumes.get(key.slice(volumePrefix.length))
    if (volume !== undefined) await syncVolume(tools, volume)
  }
}

interface BinderInformers {
  readonly claims: Informer<PersistentVolumeClaim>
  readonly volumes: Informer<PersistentVolume>
  readonly classes: Informer<StorageClass>
  readonly pods: Informer<Pod>
}

function isWaiting({ spec, status }: PersistentVolumeClaim): boolean {
  return !spec?.volumeName && status?.phase !== 'Bound'
}

/** What an event has looked at: of a free volume or a class, the claims that wait for it. */
function sourcesOf({ claims, volumes, classes }: BinderInformers, tools: BinderTools) {
  const { dialect } = tools
  const waitingFor = (className: string): string[] =>
    claims
      .list()
      .filter((claim) => isWaiting(claim) && claimClassName(claim, dialect) === className)
      .map((claim) => claimKey(keyOf(claim)))
  return [
    source(claims, (claim) => {
      const { volumeName } = claim.spec ?? {}
      return [claimKey(keyOf(claim)), ...(volumeName ? [volumeKey(volumeName)] : [])]
    }),
    source(volumes, (volume) => {
      const { claimRef } = volume.spec ?? {}
      const own = volumeKey(keyOf(volume))
      if (claimRef === undefined) return [own, ...waitingFor(volumeClassName(volume, dialect))]
      return [own, claimKey(`${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`)]
    }),
    source(classes, ({ metadata }) => {
      const unnamed = claims
        .list()
        .filter((claim) => isWaiting(claim) && !namesClass(claim, dialect))
        .map((claim) => claimKey(keyOf(claim)))
      return [...waitingFor(metadata.name ?? ''), ...unnamed]
    }),
  ]
}

/** Has every claim that waits looked at once a period, as upstream: its events tell that it still waits. */
async function resync(
  { claims, volumes }: BinderInformers,
  options: { readonly add: (key: string) => void; readonly context: ControllerContext },
  signal: AbortSignal,
): Promise<void> {
  const { add, context } = options
  const periodMs = context.options['pvclaimbinder-sync-period']
  if (!(await untilReady([claims, volumes], signal))) return
  while (!signal.aborted) {
    try {
      await upkeepOf(context.clock).sleep(periodMs, signal)
    } catch {
      // Only an abort ends the sleep early.
      return
    }
    for (const claim of claims.list()) add(claimKey(keyOf(claim)))
    for (const volume of volumes.list()) add(volumeKey(keyOf(volume)))
  }
}

/** Counts what there is, and ends the times of what is gone. */
function measure({ claims, volumes }: BinderInformers, { metrics, times, dialect }: BinderTools) {
  metrics.countVolumes({
    volumes: () => volumes.list(),
    claims: () => claims.list(),
    pluginOf: (volume) => pluginOfVolume(volume, dialect),
  })
  claims.onEvent(({ type, object }) => {
    if (type === 'delete') times.forget(keyOf(object))
  })
  volumes.onEvent(({ type, object }) => {
    if (type === 'delete') times.end(keyOf(object))
  })
}

/** Runs until `signal` aborts. */
export async function runBinder(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, recorder, options } = context
  const all: BinderInformers = {
    claims: informers.informer(resources.persistentVolumeClaims),
    volumes: informers.informer(resources.persistentVolumes),
    classes: informers.informer(resources.storageClasses),
    pods: informers.informer(resources.pods),
  }
  indexByClaim(all.pods)
  const queue = queues('claims')
  const tools: BinderTools = {
    claims: createNewestObjects(all.claims),
    volumes: createNewestObjects(all.volumes),
    classes: all.classes,
    pods: all.pods,
    claimClient: client.resource<PersistentVolumeClaim>(resources.persistentVolumeClaims),
    volumeClient: client.resource<PersistentVolume>(resources.persistentVolumes),
    recorder,
    metrics: context.metrics.volumes,
    times: createOperationTimes(context.metrics.volumes, clock),
    keys: volumeKeys(dialect),
    dialect,
    provisions: options['enable-dynamic-provisioning'],
    queueClaim: (key) => queue.add(claimKey(key)),
  }
  measure(all, tools)
  // A claim's events name the pods that wait for it.
  const pods = source(all.pods, () => [])
  const controller = {
    name: 'persistentvolume-binder-controller',
    informers: [...sourcesOf(all, tools), pods],
    reconcile: (key: string) => sync(tools, key),
    clock,
    log,
    queue,
  }
  const add = (key: string): void => queue.add(key)
  await Promise.all([runController(controller, signal), resync(all, { add, context }, signal)])
}

export const persistentVolumeBinder: ControllerEntry = {
  name: 'persistentvolume-binder-controller',
  aliases: ['persistentvolume-binder'],
  eventSource: 'persistentvolume-controller',
  defaultOn: true,
  start: runBinder,
}
