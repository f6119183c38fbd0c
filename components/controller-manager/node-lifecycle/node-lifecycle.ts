/** Watches the nodes' heartbeats: silent nodes get Unknown conditions and taints (upstream: pkg/controller/nodelifecycle). */
import type { Lease, Node, Pod } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import { indexByNode } from '../pod-indexes.ts'
import { createPodMarker } from './mark-pods.ts'
import type { PodMarker } from './mark-pods.ts'
import { readyOf } from './node-health.ts'
import { runNodeMonitor } from './node-monitor.ts'
import { nodeTaintKeys, noScheduleSwap } from './node-taints.ts'
import type { NodeTaintKeys } from './node-taints.ts'
import { createNodeWriter } from './node-writer.ts'
import type { NodeWriter } from './node-writer.ts'

const name = 'node-lifecycle-controller'

/** Runs until `signal` aborts. */
export async function runNodeLifecycle(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, recorder } = context
  const nodes = informers.informer<Node>(resources.nodes)
  const pods = informers.informer<Pod>(resources.pods)
  const leases = informers.informer<Lease>(resources.leases, {
    namespace: dialect.nodeLeaseNamespace,
  })
  indexByNode(pods)
  const nodeClient = client.resource<Node>(resources.nodes)
  const marker = createPodMarker({ pods: client.resource<Pod>(resources.pods), recorder, clock })
  const writer = createNodeWriter(nodeClient, clock)
  const keys = nodeTaintKeys(dialect)
  const monitoring = runNodeMonitor(
    { context, nodes, pods, leases, nodeClient, writer, marker, keys },
    signal,
  )
  await Promise.all([
    monitoring.catch((error: unknown) => {
      if (!signal.aborted) throw error
    }),
    runNoScheduleTaints({ nodes, writer, keys }, context, signal),
    runBoundPods({ nodes, pods, marker }, context, signal),
  ])
}

/** Keeps the NoSchedule taints that follow from a node's conditions (upstream: doNoScheduleTaintingPass). */
async function runNoScheduleTaints(
  { nodes, writer, keys }: { nodes: Informer<Node>; writer: NodeWriter; keys: NodeTaintKeys },
  { queues, clock, log }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const ownWrites = createOwnWrites(nodes, clock)
  const reconcile = async (key: string): Promise<Result | void> => {
    const node = nodes.get(key)
    if (node === undefined) return
    // While nodes join, many write to them: events of others come before that of the own write.
    const pendingMs = ownWrites.pendingMs(key)
    if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
    const written = await writer.swapTaintsOnce(node, noScheduleSwap(node, keys))
    if (written !== undefined) ownWrites.wrote(key, written)
  }
  const informers = [source(nodes)]
  await runController({ queues, name, informers, reconcile, workers: 8, clock, log }, signal)
}

/** Marks a pod that was bound to a node which is not ready; the node itself reports the pod's later states. */
async function runBoundPods(
  { nodes, pods, marker }: { nodes: Informer<Node>; pods: Informer<Pod>; marker: PodMarker },
  { queues, clock, log }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const queue = queues('node_lifecycle_controller_pods')
  pods.onEvent((event) => {
    const { nodeName } = event.object.spec ?? {}
    const isNew =
      event.type === 'add' || (event.type === 'update' && event.old.spec?.nodeName !== nodeName)
    if (nodeName && isNew) queue.add(keyOf(event.object))
  })
  const reconcile = async (key: string): Promise<void> => {
    const pod = pods.get(key)
    const node = nodes.get(pod?.spec?.nodeName ?? '')
    const status = node && readyOf(node)?.status
    if (pod !== undefined && status !== undefined && status !== 'True')
      await marker.markNotReady([pod])
  }
  const informers = [source(pods, () => []), source(nodes, () => [])]
  await runController({ name, informers, reconcile, queue, workers: 4, clock, log }, signal)
}

export const nodeLifecycleController: ControllerEntry = {
  name,
  aliases: ['nodelifecycle'],
  eventSource: 'node-controller',
  defaultOn: true,
  start: runNodeLifecycle,
}
