/**
 * Asks CSI drivers to attach volumes to the nodes of the pods that use them, and to detach them (upstream:
 * pkg/controller/volume/attachdetach). Volumes of other sources, the simulated ones too, need no attachment.
 */
import type {
  CSIDriver,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
} from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { isGone } from '../../client/is-gone.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { claimKeysOf, indexByClaim, podsOfClaim } from '../claim-pods.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import type { OwnWrites } from '../own-writes.ts'
import { indexByNode, podsOnNode } from '../pod-indexes.ts'
import { csiPlugin } from '../volume-plugin.ts'
import type { CountedAttachments } from '../volume-metrics.ts'
import { createAttachmentTimes } from './attachment-times.ts'
import type { AttachmentTimes } from './attachment-times.ts'
import {
  attachedVolume,
  isOwnAttachment,
  isElsewhere,
  isExclusive,
  wantedAttachments,
} from './wanted-attachments.ts'
import type { AttachmentCaches, WantedAttachment } from './wanted-attachments.ts'

interface AttachSync {
  readonly pods: Informer<Pod>
  readonly nodes: Informer<Node>
  readonly attachments: Informer<VolumeAttachment>
  readonly caches: AttachmentCaches
  readonly attachmentClient: ResourceClient<VolumeAttachment>
  readonly nodeClient: ResourceClient<Node>
  readonly recorder: EventRecorder
  readonly ownWrites: OwnWrites
  readonly dialect: Dialect
  /** What was last recorded of an attachment, by its name: each outcome once. */
  readonly recorded: Map<string, string>
  readonly times: AttachmentTimes
}

/** Another node has it: asked again after this time, as nothing tells when that ends but the attachment's own event. */
const retryMs = 30_000

async function syncNode(sync: AttachSync, nodeName: string): Promise<Result | void> {
  const { pods, attachments, caches, ownWrites } = sync
  const pendingMs = ownWrites.pendingMs(nodeName)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  const wanted = wantedAttachments(podsOnNode(pods, nodeName), nodeName, caches)
  const all = attachments.list()
  const own = new Map(
    all
      .filter((one) => one.spec.nodeName === nodeName && isOwnAttachment(one, caches))
      .map((one) => [one.metadata.name ?? '', one]),
  )
  let isBlocked = false
  for (const one of wanted.values()) {
    const existing = own.get(one.name)
    if (existing !== undefined) recordOutcome(sync, one, existing)
    else if (isExclusive(one.volume) && isElsewhere(one, nodeName, all)) {
      isBlocked = true
      recordConflict(sync, one)
    } else await attach(sync, one, nodeName)
  }
  await reportAttached(sync, nodeName, { wanted, own })
  await detachUnwanted(sync, nodeName, { wanted, own })
  return isBlocked ? { requeueAfterMs: retryMs } : undefined
}

async function attach(
  { attachmentClient, ownWrites, recorded, times, dialect }: AttachSync,
  { name, driver, volume }: WantedAttachment,
  nodeName: string,
): Promise<void> {
  try {
    const made = await attachmentClient.create({
      metadata: { name },
      spec: {
        attacher: driver,
        nodeName,
        source: { persistentVolumeName: volume.metadata.name ?? '' },
      },
    })
    recorded.set(name, 'asked')
    times.begin(name, csiPlugin(driver, dialect), 'volume_attach')
    ownWrites.wrote(nodeName, made)
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
  }
}

/** Records an event about each pod, unless it is the one recorded last; whether it did. */
function recordOnce(
  { recorder, recorded }: AttachSync,
  { name, pods }: WantedAttachment,
  event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
): boolean {
  if (recorded.get(name) === event.message) return false
  recorded.set(name, event.message)
  for (const pod of pods) recorder.record(pod, event)
  return true
}

function recordConflict(sync: AttachSync, wanted: WantedAttachment): void {
  const message = `Multi-Attach error for volume "${wanted.volume.metadata.name}" Volume is already exclusively attached to one node and can't be attached to another`
  recordOnce(sync, wanted, { type: 'Warning', reason: 'FailedAttachVolume', message })
}

/** Attachments that were there before this process started are no news. */
function recordOutcome(
  sync: AttachSync,
  wanted: WantedAttachment,
  { status }: VolumeAttachment,
): void {
  const name = wanted.volume.metadata.name ?? ''
  if (status?.attached === true) {
    if (!sync.recorded.has(wanted.name)) return
    const message = `AttachVolume.Attach succeeded for volume "${name}" `
    if (recordOnce(sync, wanted, { type: 'Normal', reason: 'SuccessfulAttachVolume', message }))
      sync.times.end(wanted.name, 'volume_attach', 'success')
  } else if (status?.attachError !== undefined) {
    const message = `AttachVolume.Attach failed for volume "${name}" : ${status.attachError.message ?? ''}`
    if (recordOnce(sync, wanted, { type: 'Warning', reason: 'FailedAttachVolume', message }))
      sync.times.end(wanted.name, 'volume_attach', 'fail-unknown')
  }
}

interface NodeAttachments {
  readonly wanted: ReadonlyMap<string, WantedAttachment>
  /** The node's attachments, by name. */
  readonly own: ReadonlyMap<string, VolumeAttachment>
}

/** The node's status names the attached volumes that are wanted; one that is to be detached leaves it first. */
async function reportAttached(
  { nodes, nodeClient, dialect }: AttachSync,
  nodeName: string,
  { wanted, own }: NodeAttachments,
): Promise<void> {
  const node = nodes.get(nodeName)
  if (node === undefined) return
  const attached = [...wanted.values()]
    .filter(({ name }) => own.get(name)?.status?.attached === true)
    .map((one) => attachedVolume(one, dialect))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (deepEqual(node.status?.volumesAttached ?? [], attached)) return
  const patch = { status: { volumesAttached: attached.length === 0 ? null : attached } }
  await nodeClient.patch({ name: nodeName }, patch, { type: 'merge', subresource: 'status' })
}

/** An attachment that the node still reports in use waits until it does not. */
async function detachUnwanted(
  { nodes, caches, attachmentClient, recorded, times, dialect }: AttachSync,
  nodeName: string,
  { wanted, own }: NodeAttachments,
): Promise<void> {
  const inUse = new Set(nodes.get(nodeName)?.status?.volumesInUse)
  for (const [name, { metadata, spec }] of own) {
    if (wanted.has(name) || metadata.deletionTimestamp !== undefined) continue
    const csi = caches.volume(spec.source.persistentVolumeName ?? '')?.spec?.csi
    const handle = csi?.volumeHandle ?? ''
    if (inUse.has(attachedVolume({ driver: spec.attacher, handle }, dialect).name)) continue
    recorded.delete(name)
    times.begin(name, csiPlugin(spec.attacher, dialect), 'volume_detach')
    try {
      await attachmentClient.delete({ name }, { preconditions: { uid: metadata.uid ?? '' } })
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }
}

/** What the metrics count of attachments. */
function attachmentsToCount({
  pods,
  nodes,
  attachments,
  caches,
  dialect,
}: AttachSync): CountedAttachments {
  const wantedOn = (node: string): WantedAttachment[] => [
    ...wantedAttachments(podsOnNode(pods, node), node, caches).values(),
  ]
  const names = (): string[] => nodes.list().map(keyOf)
  return {
    inUse: () =>
      names().flatMap((node) =>
        wantedOn(node).flatMap(({ driver, pods: users }) =>
          users.map(() => [node, csiPlugin(driver, dialect)] as const),
        ),
      ),
    attachments: () => [
      ...names()
        .flatMap(wantedOn)
        .map(({ driver }) => [csiPlugin(driver, dialect), 'desired_state_of_world'] as const),
      ...attachments
        .list()
        .filter((one) => one.status?.attached === true && isOwnAttachment(one, caches))
        .map(({ spec }) => [csiPlugin(spec.attacher, dialect), 'actual_state_of_world'] as const),
    ],
  }
}

/** Runs until `signal` aborts. */
export async function runAttachDetach(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, recorder } = context
  const pods = informers.informer<Pod>(resources.pods)
  const nodes = informers.informer<Node>(resources.nodes)
  const claims = informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  const volumes = informers.informer<PersistentVolume>(resources.persistentVolumes)
  const drivers = informers.informer<CSIDriver>(resources.csiDrivers)
  const attachments = informers.informer<VolumeAttachment>(resources.volumeAttachments)
  indexByNode(pods)
  indexByClaim(pods)
  const sync: AttachSync = {
    pods,
    nodes,
    attachments,
    caches: {
      claim: (key) => claims.get(key),
      volume: (name) => volumes.get(name),
      driver: (name) => drivers.get(name),
    },
    attachmentClient: client.resource<VolumeAttachment>(resources.volumeAttachments),
    nodeClient: client.resource<Node>(resources.nodes),
    recorder,
    ownWrites: createOwnWrites(attachments, clock),
    dialect,
    recorded: new Map(),
    times: createAttachmentTimes(context.metrics.volumes, clock),
  }
  context.metrics.volumes.countAttachments(attachmentsToCount(sync))
  attachments.onEvent(({ type, object }) => {
    if (type === 'delete') sync.times.end(keyOf(object), 'volume_detach', 'success')
  })
  const nodesOfClaim = (key: string): string[] =>
    podsOfClaim(pods, key).flatMap(({ spec }) => (spec?.nodeName ? [spec.nodeName] : []))
  const nodesOfVolume = ({ spec }: PersistentVolume): string[] => {
    const { namespace = '', name } = spec?.claimRef ?? {}
    return name === undefined ? [] : nodesOfClaim(`${namespace}/${name}`)
  }
  const waiting = ({ spec }: VolumeAttachment): string[] => {
    const volume = volumes.get(spec.source.persistentVolumeName ?? '')
    return [spec.nodeName, ...(volume === undefined ? [] : nodesOfVolume(volume))]
  }
  const informersOf = [
    // Most pods have no claim, and many events: their nodes are not looked at for them.
    source(pods, (pod) =>
      pod.spec?.nodeName && claimKeysOf(pod).length > 0 ? [pod.spec.nodeName] : [],
    ),
    source(nodes),
    source(claims, (claim) => nodesOfClaim(keyOf(claim))),
    source(volumes, nodesOfVolume),
    source(drivers, () => nodes.list().map(keyOf)),
    source(attachments, waiting),
  ]
  const reconcile = (nodeName: string) => syncNode(sync, nodeName)
  const name = 'persistentvolume-attach-detach-controller'
  await runController({ name, informers: informersOf, reconcile, clock, log, queues }, signal)
}

export const attachDetach: ControllerEntry = {
  name: 'persistentvolume-attach-detach-controller',
  aliases: ['attachdetach'],
  eventSource: 'attachdetach-controller',
  defaultOn: true,
  start: runAttachDetach,
}
