/** Evicts pods from nodes with NoExecute taints that they do not tolerate (upstream: pkg/controller/tainteviction). */
import type { Node, Pod, Taint } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { disruptPod } from '../pod-disruption.ts'
import { indexByNode, podsOnNode } from '../pod-indexes.ts'
import { evictionDelayMs } from './eviction-delay.ts'
import type { TaintEvictionMetrics } from './taint-eviction-metrics.ts'

const why = {
  reason: 'DeletionByTaintManager',
  message: 'Taint manager: deleting due to NoExecute taint',
}

/** The reconciler's caches, clients and memory. */
interface Evictions {
  readonly nodes: Informer<Node>
  readonly pods: Informer<Pod>
  readonly podClient: ResourceClient<Pod>
  /** When a pod's time began, by its key. */
  readonly scheduled: Map<string, { readonly uid: string; readonly sinceMs: number }>
  /** The uids of evicted pods by key, until the cache shows their deletion. */
  readonly evicted: Map<string, string>
  readonly recorder: EventRecorder
  readonly clock: Clock
  readonly metrics: TaintEvictionMetrics
}

/** Runs until `signal` aborts. A restart forgets what was scheduled: every toleration begins anew. */
export async function runTaintEviction(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, clock, log, queues, recorder } = context
  const nodes = informers.informer<Node>(resources.nodes)
  const pods = informers.informer<Pod>(resources.pods)
  indexByNode(pods)
  const podClient = client.resource<Pod>(resources.pods)
  const queue = queues('noexec_taint_pod')
  nodes.onEvent((event) => {
    const before = event.type === 'update' ? noExecute(event.old) : []
    const after = event.type === 'delete' ? [] : noExecute(event.object)
    // Nodes change with every heartbeat; their pods matter only when these taints do.
    if (event.type !== 'delete' && deepEqual(before, after)) return
    for (const pod of podsOnNode(pods, event.object.metadata.name ?? '')) queue.add(keyOf(pod))
  })
  const [scheduled, evicted] = [new Map(), new Map()]
  const memory = { scheduled, evicted, metrics: context.metrics.taintEviction }
  const evictions: Evictions = { nodes, pods, podClient, recorder, clock, ...memory }
  await runController(
    {
      name: 'taint-eviction-controller',
      informers: [source(pods), source(nodes, () => [])],
      reconcile: (key) => syncPod(evictions, key),
      workers: 8,
      clock,
      log,
      queue,
    },
    signal,
  )
}

function noExecute(node: Node | undefined): Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute')
}

async function syncPod(evictions: Evictions, key: string): Promise<Result | void> {
  const { nodes, pods, podClient, scheduled, evicted, recorder, clock, metrics } = evictions
  const record = (to: Pod, message: string): void =>
    recorder.record(to, { type: 'Normal', reason: 'TaintManagerEviction', message })
  const pod = pods.get(key)
  const { uid = '', deletionTimestamp } = pod?.metadata ?? {}
  if (scheduled.get(key)?.uid !== uid) scheduled.delete(key)
  if (pod === undefined || deletionTimestamp !== undefined) {
    scheduled.delete(key)
    evicted.delete(key)
    return
  }
  if (evicted.get(key) === uid) return
  const node = nodes.get(pod.spec?.nodeName ?? '')
  const delayMs = evictionDelayMs(noExecute(node), pod.spec?.tolerations)
  if (delayMs === Infinity) {
    if (scheduled.delete(key)) record(pod, `Cancelling deletion of Pod ${key}`)
    return
  }
  const sinceMs = scheduled.get(key)?.sinceMs ?? clock.now()
  const leftMs = sinceMs + delayMs - clock.now()
  if (leftMs > 0) {
    scheduled.set(key, { uid, sinceMs })
    return { requeueAfterMs: leftMs }
  }
  record(pod, `Marking for deletion Pod ${key}`)
  await disruptPod(pod, { pods: podClient, clock, why })
  metrics.deletions.inc()
  metrics.latencySeconds.observe((clock.now() - sinceMs - delayMs) / 1000)
  scheduled.delete(key)
  evicted.set(key, uid)
}

export const taintEvictionController: ControllerEntry = {
  name: 'taint-eviction-controller',
  aliases: [],
  defaultOn: true,
  start: runTaintEviction,
}
