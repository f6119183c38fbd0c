/** ClusterEvents: turns the informers' events into changes of the snapshot and of the queue. */
import type { Node, Pod } from '../api/generated/types.ts'
import type { InformerEvent } from '../client/informer.ts'
import { deepEqual, keyOf } from '../machinery/objects/object.ts'
import { podInfoOf } from './pod-info.ts'
import { isWaiting } from './scheduler.ts'
import type { SchedulingQueue } from './scheduling-queue.ts'
import type { Snapshot } from './snapshot.ts'

interface Options {
  readonly queue: SchedulingQueue
  readonly snapshot: Snapshot
  readonly schedulerName: string
}

/** Whether a change of a waiting pod earns it another attempt: it touched more than status and bookkeeping. */
function isWorthAnotherTry(old: Pod, now: Pod): boolean {
  return !(
    deepEqual(old.spec, now.spec) &&
    deepEqual(old.metadata.labels, now.metadata.labels) &&
    deepEqual(old.metadata.annotations, now.metadata.annotations)
  )
}

/** Handlers for the informers of pods and nodes. */
export function createClusterEvents(options: Options): {
  onPod(event: InformerEvent<Pod>): void
  onNode(event: InformerEvent<Node>): void
} {
  return {
    onPod: (event) => onPod(options, event),
    onNode: (event) => onNode(options, event),
  }
}

function onPod({ queue, snapshot, schedulerName }: Options, event: InformerEvent<Pod>): void {
  const dropPod = (): void => {
    queue.remove(key)
    snapshot.withdraw(key)
    if (snapshot.removePod(key)) queue.changed('pod-removed')
  }
  const pod = event.object
  const key = keyOf(pod)
  const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
  if (event.type === 'delete' || hasEnded) {
    dropPod()
    return
  }
  // A pod of the same name that was deleted and made again between two looks is another pod.
  if (event.type === 'update' && event.old.metadata.uid !== pod.metadata.uid) dropPod()
  if (pod.spec?.nodeName) {
    const isNews =
      event.type === 'add' ||
      !event.old.spec?.nodeName ||
      !deepEqual(event.old.metadata.labels, pod.metadata.labels)
    queue.remove(key)
    snapshot.setPod(pod)
    if (isNews) queue.changed('pod-added')
    return
  }
  if (!isWaiting(pod, schedulerName)) {
    queue.remove(key)
    snapshot.withdraw(key)
    return
  }
  // Its binding is in flight; the outcome decides.
  if (snapshot.nodeOf(key) !== undefined) return
  const info = podInfoOf(pod)
  if (event.type === 'update' && queue.has(key) && !isWorthAnotherTry(event.old, pod)) {
    queue.refresh(info)
  } else queue.add(info)
}

function onNode({ queue, snapshot }: Options, event: InformerEvent<Node>): void {
  const node = event.object
  if (event.type === 'delete') {
    snapshot.removeNode(node.metadata.name ?? '')
    queue.changed('node-removed')
    return
  }
  snapshot.setNode(node)
  if (event.type === 'add') {
    queue.changed('node-added')
    return
  }
  const { old } = event
  if (!deepEqual(old.status?.allocatable, node.status?.allocatable)) {
    queue.changed('node-allocatable')
  }
  if (!deepEqual(old.metadata.labels, node.metadata.labels)) queue.changed('node-labels')
  if (
    old.spec?.unschedulable !== node.spec?.unschedulable ||
    !deepEqual(old.spec?.taints, node.spec?.taints)
  ) {
    queue.changed('node-taints')
  }
}
