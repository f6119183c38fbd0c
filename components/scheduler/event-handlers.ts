/** EventHandlers: turns the informers' events into changes of the snapshot and of the queue (upstream: eventhandlers.go). */
import type { Node, Pod } from '../api/generated/types.ts'
import { resourcesOf } from '../api/resources.ts'
import type { Resources } from '../api/resources.ts'
import type { Client } from '../client/client.ts'
import type { InformerEvent, InformerFactory } from '../client/informer.ts'
import { keyOf } from '../machinery/objects/object.ts'
import type { ActionType, ClusterEvent, RegisteredEvent } from './cluster-event.ts'
import { eventLabel, nodeUpdateEvents, podUpdateEvents } from './cluster-event.ts'
import { podInfoOf } from './pod-info.ts'
import type { Profile } from './profile.ts'
import { isWaiting } from './waiting-pod.ts'
import type { SchedulingQueue } from './scheduling-queue.ts'
import type { Snapshot } from './snapshot.ts'

interface Options {
  readonly queue: SchedulingQueue
  readonly snapshot: Snapshot
  /** Names of the profiles' schedulers. */
  readonly schedulerNames: ReadonlySet<string>
  readonly handle?: HandleEvent
}

/** Handles an event, and takes the labels of what it was: to time it, or just to do it. */
export type HandleEvent = (handle: () => readonly string[]) => void

const untimed: HandleEvent = (handle) => void handle()

/** Handlers for the informers of pods and nodes. */
export function createEventHandlers(options: Options): {
  onPod(event: InformerEvent<Pod>): void
  onNode(event: InformerEvent<Node>): void
} {
  const { handle = untimed } = options
  return {
    onPod: (event) => handle(() => onPod(options, event)),
    onNode: (event) => handle(() => onNode(options, event)),
  }
}

function dropPod({ queue, snapshot }: Options, pod: Pod): readonly string[] {
  const key = keyOf(pod)
  queue.remove(key)
  snapshot.withdraw(key)
  // Room that was kept for a nominated pod is free, too.
  if (snapshot.removePod(key) || pod.status?.nominatedNodeName) {
    queue.happened({ resource: 'AssignedPod', action: 'Delete', old: pod })
  }
  const resource = pod.spec?.nodeName ? 'AssignedPod' : 'UnscheduledPod'
  return [eventLabel({ resource, action: 'Delete' })]
}

function onPod(options: Options, event: InformerEvent<Pod>): readonly string[] {
  const pod = event.object
  const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
  if (event.type === 'delete' || hasEnded) {
    return dropPod(options, pod)
  }
  const old = event.type === 'update' ? event.old : undefined
  // A pod of the same name that was deleted and made again between two looks is another pod.
  const isOther = old !== undefined && old.metadata.uid !== pod.metadata.uid
  if (isOther) dropPod(options, old)
  const before = isOther ? undefined : old
  return pod.spec?.nodeName
    ? onAssignedPod(options, pod, before)
    : onWaitingPod(options, pod, before)
}

function onAssignedPod(
  { queue, snapshot }: Options,
  pod: Pod,
  old: Pod | undefined,
): readonly string[] {
  queue.remove(keyOf(pod))
  snapshot.setPod(pod)
  if (!old?.spec?.nodeName) {
    const added = { resource: 'AssignedPod', action: 'Add', now: pod } as const
    queue.happened(added)
    return [eventLabel(added)]
  }
  const changes = podUpdateEvents('AssignedPod', old, pod)
  for (const each of changes) queue.happened(each)
  return changes.map(eventLabel)
}

function onWaitingPod(
  { queue, snapshot, schedulerNames }: Options,
  pod: Pod,
  old: Pod | undefined,
): readonly string[] {
  const key = keyOf(pod)
  if (!isWaiting(pod, schedulerNames)) {
    queue.remove(key)
    snapshot.withdraw(key)
    return []
  }
  // Its binding is in flight; the outcome decides.
  if (snapshot.nodeOf(key) !== undefined) return []
  const info = podInfoOf(pod)
  if (pod.status?.nominatedNodeName) snapshot.nominate(info, pod.status.nominatedNodeName)
  else if (old?.status?.nominatedNodeName) snapshot.withdraw(key)
  if (old !== undefined && queue.has(info)) {
    const changes = podUpdateEvents('UnscheduledPod', old, pod)
    queue.update(info, changes)
    return changes.map(eventLabel)
  }
  queue.add(info)
  return [eventLabel({ resource: 'UnscheduledPod', action: 'Add' })]
}

function onNode({ queue, snapshot }: Options, event: InformerEvent<Node>): readonly string[] {
  const node = event.object
  if (event.type === 'delete') {
    snapshot.removeNode(node.metadata.name ?? '')
    const deleted = { resource: 'Node', action: 'Delete', old: node } as const
    queue.happened(deleted)
    return [eventLabel(deleted)]
  }
  snapshot.setNode(node)
  const changes: readonly ClusterEvent[] =
    event.type === 'add'
      ? [{ resource: 'Node', action: 'Add', now: node }]
      : nodeUpdateEvents(event.old, node)
  for (const each of changes) queue.happened(each)
  return changes.map(eventLabel)
}

/** The kinds besides pods and nodes whose changes plugins may register. */
const registrable = {
  PersistentVolume: 'persistentVolumes',
  PersistentVolumeClaim: 'persistentVolumeClaims',
  StorageClass: 'storageClasses',
  CSINode: 'csiNodes',
  CSIDriver: 'csiDrivers',
  CSIStorageCapacity: 'csiStorageCapacities',
  ResourceClaim: 'resourceClaims',
  ResourceSlice: 'resourceSlices',
  DeviceClass: 'deviceClasses',
} as const satisfies Record<
  Exclude<RegisteredEvent['resource'], 'AssignedPod' | 'UnscheduledPod' | 'Pod' | 'Node'>,
  keyof Resources
>

/** Tells the queue of changes of the other kinds that the profiles' plugins registered. */
export function followRegistered(
  client: Pick<Client, 'dialect'>,
  about: {
    readonly queue: SchedulingQueue
    readonly profiles: ReadonlyMap<string, Profile>
    readonly informers: Pick<InformerFactory, 'informer'>
    readonly handle?: HandleEvent
  },
): void {
  const { queue, profiles, informers, handle = untimed } = about
  const happened = (event: ClusterEvent): void =>
    handle(() => {
      queue.happened(event)
      return [eventLabel(event)]
    })
  const wanted = new Set<RegisteredEvent['resource']>()
  for (const { plugins } of profiles.values()) {
    for (const { events = [] } of plugins.values()) {
      for (const { resource } of events) wanted.add(resource)
    }
  }
  const resources = resourcesOf(client.dialect)
  for (const [resource, plural] of Object.entries(registrable)) {
    if (!wanted.has(resource as keyof typeof registrable)) continue
    informers.informer(resources[plural]).onEvent((event) => {
      // An informer gives the objects of its kind.
      happened({ resource, ...changeOf(event) } as ClusterEvent)
    })
  }
}

function changeOf<T>(event: InformerEvent<T>): { action: ActionType; old?: T; now?: T } {
  switch (event.type) {
    case 'add':
      return { action: 'Add', now: event.object }
    case 'update':
      return { action: 'Update', old: event.old, now: event.object }
    case 'delete':
      return { action: 'Delete', old: event.object }
  }
}
