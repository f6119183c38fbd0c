/** Makes the claims of pods' generic ephemeral volumes (upstream: pkg/controller/volume/ephemeral; KEP-1698). */
import type { PersistentVolumeClaim, Pod, Volume } from '../api/generated/types.ts'
import { source, runController } from '../client/controller.ts'
import type { Informer } from '../client/informer.ts'
import type { ResourceClient } from '../client/resource-client.ts'
import { messageOf } from '../component-base/log.ts'
import { controllerOf, keyOf } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'
import { copyJson } from '../machinery/values/json-copy.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import { controllerReference } from './claim.ts'
import type { ControllerContext, ControllerEntry } from './controller-context.ts'
import type { EphemeralVolumeMetrics } from './ephemeral-volume-metrics.ts'
import { unlessGone } from './gone-owners.ts'
import { createOwnWrites } from './own-writes.ts'
import type { OwnWrites } from './own-writes.ts'

/** The claim of one of the pod's ephemeral volumes, owned by the pod. Pure. */
export function ephemeralClaim(pod: Pod, volume: Volume, pods: Resource): PersistentVolumeClaim {
  const { namespace = '', name = '' } = pod.metadata
  const template = volume.ephemeral?.volumeClaimTemplate
  const { labels, annotations } = template?.metadata ?? {}
  return copyJson({
    metadata: {
      name: `${name}-${volume.name}`,
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference(pod, pods)],
    },
    spec: template?.spec ?? {},
  })
}

interface EphemeralSync {
  readonly claims: Informer<PersistentVolumeClaim>
  readonly client: ResourceClient<PersistentVolumeClaim>
  readonly pods: Resource
  readonly metrics: EphemeralVolumeMetrics
  readonly ownWrites: OwnWrites
}

/** Throws when the claim's name is taken by another one, and what the server says. */
async function ensureClaim(
  { claims, client, pods, ownWrites, metrics }: EphemeralSync,
  pod: Pod,
  volume: Volume,
): Promise<void> {
  const claim = ephemeralClaim(pod, volume, pods)
  const { namespace = '', name = '' } = claim.metadata
  let existing = claims.get(`${namespace}/${name}`)
  if (existing === undefined) {
    metrics.created.inc()
    try {
      ownWrites.wrote(keyOf(pod), await client.create(claim))
      return
    } catch (error) {
      metrics.failed.inc()
      if (!isStatusError(error, 'AlreadyExists'))
        throw new Error(`create PVC ${name}: ${messageOf(error)}`, { cause: error })
    }
    existing = await client.get({ namespace, name })
  }
  if (controllerOf(existing)?.uid === pod.metadata.uid) return
  throw new Error(
    `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
  )
}

/** Runs until `signal` aborts. */
export async function runEphemeralVolumes(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, clock, log, queues, recorder, options } = context
  const pods = informers.informer<Pod>(resources.pods)
  const claims = informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  const sync: EphemeralSync = {
    claims,
    client: client.resource<PersistentVolumeClaim>(resources.persistentVolumeClaims),
    pods: resources.pods,
    metrics: context.metrics.ephemeralVolumes,
    ownWrites: createOwnWrites(claims, clock),
  }
  const hasOwn = ({ metadata, spec }: Pod): boolean =>
    metadata.deletionTimestamp === undefined &&
    (spec?.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined)
  const reconcile = async (key: string): Promise<void> => {
    const pod = pods.get(key)
    if (pod === undefined || !hasOwn(pod)) return
    for (const volume of pod.spec?.volumes ?? []) {
      if (volume.ephemeral === undefined) continue
      try {
        await ensureClaim(sync, pod, volume)
      } catch (error) {
        const message = `ephemeral volume ${volume.name}: ${messageOf(error)}`
        recorder.record(pod, { type: 'Warning', reason: 'FailedBinding', message })
        // The caller distinguishes the server's own errors from bugs by their class.
        throw error instanceof Error && error.cause !== undefined ? error.cause : error
      }
    }
  }
  const podOfClaim = (claim: PersistentVolumeClaim): string[] => {
    const { kind, name } = controllerOf(claim) ?? {}
    return kind === 'Pod' ? [`${claim.metadata.namespace ?? ''}/${name}`] : []
  }
  await runController(
    {
      name: 'ephemeral-volume-controller',
      informers: [
        source(pods, (pod) => (hasOwn(pod) ? [keyOf(pod)] : [])),
        source(claims, podOfClaim),
      ],
      reconcile: unlessGone(
        { owners: pods, client: client.resource<Pod>(resources.pods), ownWrites: sync.ownWrites },
        reconcile,
      ),
      workers: options['concurrent-ephemeralvolume-syncs'],
      clock,
      log,
      queues,
    },
    signal,
  )
}

export const ephemeralVolumes: ControllerEntry = {
  name: 'ephemeral-volume-controller',
  aliases: ['ephemeral-volume'],
  eventSource: 'ephemeral_volume',
  defaultOn: true,
  start: runEphemeralVolumes,
}
