/**
 * ClusterEvent: what happened to an object that may let a rejected pod fit (upstream: framework/types.go, framework/events.go).
 * KEP-4247: a plugin registers the events that may undo its rejections, and a hint that looks closer.
 */
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  DeviceClass,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ResourceClaim,
  ResourceSlice,
  StorageClass,
} from '../api/generated/types.ts'
import { podRequests } from '../api/pod-amounts.ts'
import { deepEqual } from '../machinery/objects/object.ts'
import type { PodInfo } from './pod-info.ts'

/** The kinds whose changes wake pods. A pod is `AssignedPod` once it has a node, `UnscheduledPod` before. */
interface EventObjects {
  AssignedPod: Pod
  UnscheduledPod: Pod
  Node: Node
  PersistentVolume: PersistentVolume
  PersistentVolumeClaim: PersistentVolumeClaim
  StorageClass: StorageClass
  CSINode: CSINode
  CSIDriver: CSIDriver
  CSIStorageCapacity: CSIStorageCapacity
  ResourceClaim: ResourceClaim
  ResourceSlice: ResourceSlice
  DeviceClass: DeviceClass
}

export type EventResource = keyof EventObjects

const nodeUpdates = [
  'UpdateNodeAllocatable',
  'UpdateNodeLabel',
  'UpdateNodeTaint',
  'UpdateNodeCondition',
  'UpdateNodeAnnotation',
] as const
const podUpdates = [
  'UpdatePodLabel',
  'UpdatePodScaleDown',
  'UpdatePodTolerations',
  'UpdatePodSchedulingGatesEliminated',
  'UpdatePodGeneratedResourceClaim',
] as const

/** `Update` is a change of no more specific kind; a plugin that registers it means every update. */
export type ActionType =
  'Add' | 'Delete' | 'Update' | (typeof nodeUpdates)[number] | (typeof podUpdates)[number]

interface EventOf<R extends EventResource> {
  readonly resource: R
  readonly action: ActionType
  /** Undefined for `Add`. */
  readonly old?: EventObjects[R]
  /** Undefined for `Delete`. */
  readonly now?: EventObjects[R]
}

export type ClusterEvent = { [R in EventResource]: EventOf<R> }[EventResource]

/** Events that a plugin registers. `Pod` stands for assigned and unscheduled pods. */
export interface RegisteredEvent {
  readonly resource: EventResource | 'Pod'
  readonly actions: readonly ActionType[]
  /** Whether the event may let the pod pass the plugin (upstream: QueueingHintFn, Queue); absent means that it may. */
  helps?(pod: PodInfo, event: ClusterEvent): boolean
}

/** Registers events of one kind, with a hint that takes just those. */
export function registered<R extends EventResource>(
  resource: R,
  actions: readonly ActionType[],
  hint?: (pod: PodInfo, event: EventOf<R>) => boolean,
): RegisteredEvent {
  if (hint === undefined) return { resource, actions }
  const isOwn = (event: ClusterEvent): event is Extract<ClusterEvent, EventOf<R>> =>
    event.resource === resource
  return { resource, actions, helps: (pod, event) => isOwn(event) && hint(pod, event) }
}

/** Registers events of pods, assigned or not. */
export function registeredPods(
  actions: readonly ActionType[],
  hint?: (pod: PodInfo, event: EventOf<'AssignedPod'> | EventOf<'UnscheduledPod'>) => boolean,
): RegisteredEvent {
  if (hint === undefined) return { resource: 'Pod', actions }
  return {
    resource: 'Pod',
    actions,
    helps: (pod, event) =>
      (event.resource === 'AssignedPod' || event.resource === 'UnscheduledPod') && hint(pod, event),
  }
}

/** How metrics name an event: `NodeAdd`, `AssignedPodDelete`. */
export function eventLabel({
  resource,
  action,
}: Pick<ClusterEvent, 'resource' | 'action'>): string {
  return `${resource}${action}`
}

/** The labels of all events that a registration stands for. */
export function labelsOf({ resource, actions }: RegisteredEvent): string[] {
  const resources = resource === 'Pod' ? (['AssignedPod', 'UnscheduledPod'] as const) : [resource]
  const specific = actions.flatMap((action): ActionType[] =>
    action === 'Update' ? ['Update', ...nodeUpdates, ...podUpdates] : [action],
  )
  return resources.flatMap((each) =>
    specific.map((action) => eventLabel({ resource: each, action })),
  )
}

/** The events that an update of a node is (upstream: NodeSchedulingPropertiesChange). */
export function nodeUpdateEvents(old: Node, now: Node): ClusterEvent[] {
  const actions: ActionType[] = []
  if (
    old.spec?.unschedulable !== now.spec?.unschedulable ||
    !deepEqual(old.spec?.taints, now.spec?.taints)
  ) {
    actions.push('UpdateNodeTaint')
  }
  if (!deepEqual(old.status?.allocatable, now.status?.allocatable)) {
    actions.push('UpdateNodeAllocatable')
  }
  if (!deepEqual(old.metadata.labels, now.metadata.labels)) actions.push('UpdateNodeLabel')
  if (!deepEqual(conditionsOf(old), conditionsOf(now))) actions.push('UpdateNodeCondition')
  if (!deepEqual(old.metadata.annotations, now.metadata.annotations)) {
    actions.push('UpdateNodeAnnotation')
  }
  return actions.map((action) => ({ resource: 'Node', action, old, now }))
}

/** Heartbeats change times alone. */
function conditionsOf(node: Node): readonly (readonly [string, string])[] {
  return (node.status?.conditions ?? []).map(({ type, status }) => [type, status] as const)
}

/** The events that an update of a pod is (upstream: PodSchedulingPropertiesChange); none when nothing that counts differs. */
export function podUpdateEvents(
  resource: 'AssignedPod' | 'UnscheduledPod',
  old: Pod,
  now: Pod,
): ClusterEvent[] {
  const actions: ActionType[] = []
  if (!deepEqual(old.metadata.labels, now.metadata.labels)) actions.push('UpdatePodLabel')
  if (isScaledDown(old, now)) actions.push('UpdatePodScaleDown')
  if (!deepEqual(old.spec?.tolerations, now.spec?.tolerations)) actions.push('UpdatePodTolerations')
  const gatesOf = (pod: Pod): number => pod.spec?.schedulingGates?.length ?? 0
  if (gatesOf(old) > 0 && gatesOf(now) === 0) actions.push('UpdatePodSchedulingGatesEliminated')
  if (!deepEqual(old.status?.resourceClaimStatuses, now.status?.resourceClaimStatuses)) {
    actions.push('UpdatePodGeneratedResourceClaim')
  }
  if (actions.length === 0 && resource === 'UnscheduledPod' && isOtherwiseChanged(old, now)) {
    actions.push('Update')
  }
  return actions.map((action) => ({ resource, action, old, now }))
}

function isOtherwiseChanged(old: Pod, now: Pod): boolean {
  return (
    !deepEqual(old.spec, now.spec) || !deepEqual(old.metadata.annotations, now.metadata.annotations)
  )
}

function isScaledDown(old: Pod, now: Pod): boolean {
  if (deepEqual(old.spec?.containers, now.spec?.containers)) return false
  const [before, after] = [podRequests(old), podRequests(now)]
  if (after.milliCpu < before.milliCpu || after.memory < before.memory) return true
  if (after.ephemeralStorage < before.ephemeralStorage) return true
  return [...before.scalars].some(([name, amount]) => (after.scalars.get(name) ?? 0) < amount)
}
