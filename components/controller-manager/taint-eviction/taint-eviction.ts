/** Takes pods off nodes with NoExecute taints that they do not tolerate (upstream: pkg/controller/tainteviction). */
import type { Node, Pod } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { disruptPod } from '../pod-disruption.ts'
import { indexByNode, podsOnNode } from '../pod-indexes.ts'
import { evictionDelayMs } from './eviction-delay.ts'

const why = {
  reason: 'DeletionByTaintManager',
  message: 'Taint manager: deleting due to NoExecute taint',
}

/** Runs until `signal` aborts. What was scheduled is forgotten then: after a restart every toleration begins anew. */
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
  /** Pods whose time runs, by key: since when. */
  const scheduled = new Map<string, { readonly uid: string; readonly sinceMs: number }>()
  /** Pods that were told to go, until the cache shows it. */
  const evicted = new Map<string, string>()

  const noExecute = (node: Node | undefined) =>
    (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute')
  nodes.onEvent((event) => {
    const before = event.type === 'update' ? noExecute(event.old) : []
    const after = event.type === 'delete' ? [] : noExecute(event.object)
    // Nodes change with every heartbeat; their pods matter only when these taints do.
    if (event.type !== 'delete' && deepEqual(before, after)) return
    for (const pod of podsOnNode(pods, event.object.metadata.name ?? '')) queue.add(keyOf(pod))
  })

  const tell = (pod: Pod, message: string): void =>
    recorder.record(pod, { type: 'Normal', reason: 'TaintManagerEviction', message })
  const cancel = (key: string, pod: Pod): void => {
    if (scheduled.delete(key)) tell(pod, `Cancelling deletion of Pod ${key}`)
  }

  const reconcile = async (key: string): Promise<Result | void> => {
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
      cancel(key, pod)
      return
    }
    const sinceMs = scheduled.get(key)?.sinceMs ?? clock.now()
    const leftMs = sinceMs + delayMs - clock.now()
    if (leftMs > 0) {
      scheduled.set(key, { uid, sinceMs })
      return { requeueAfterMs: leftMs }
    }
    tell(pod, `Marking for deletion Pod ${key}`)
    await disruptPod(pod, { pods: podClient, clock, why })
    scheduled.delete(key)
    evicted.set(key, uid)
  }

  await runController(
    {
      queues,
      name: 'taint-eviction-controller',
      informers: [source(pods), source(nodes, () => [])],
      reconcile,
      workers: 8,
      clock,
      log,
      queue,
    },
    signal,
  )
}

export const taintEvictionController: ControllerEntry = {
  name: 'taint-eviction-controller',
  aliases: [],
  defaultOn: true,
  start: runTaintEviction,
}
