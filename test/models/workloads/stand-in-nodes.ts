/** StandInNodes: the scheduler and the node agents of a workload story in one process: they bind pods, run them, and end them. */
import type { Node, Pod } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { Client } from '../../../components/client/client.ts'
import { createInformer } from '../../../components/client/informer.ts'
import type { Informer } from '../../../components/client/informer.ts'
import { targetNode } from '../../../components/controller-manager/daemon-set/daemon-pods.ts'
import { keyOf } from '../../../components/machinery/objects/object.ts'
import { setTimeout as delay } from 'node:timers/promises'

/** How often they look at all pods again: whatever failed is tried again then. */
const lookMs = 25

const isTerminal = ({ status }: Pod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** The exit code of a pod that ends by itself. */
function exitCodeOf({ metadata }: Pod): number | undefined {
  if (metadata.annotations?.['skiff.dev/exit-after'] === undefined) return undefined
  return Number(metadata.annotations['skiff.dev/exit-code'] ?? 0)
}

function runningStatus(nowMs: number): object {
  const startedAt = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const container = { name: 'main', image: 'i', imageID: 'i', restartCount: 0, ready: true }
  return {
    phase: 'Running',
    startTime: startedAt,
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: startedAt,
    })),
    containerStatuses: [{ ...container, state: { running: { startedAt } } }],
  }
}

function endedStatus({ status }: Pod, exitCode: number, nowMs: number): object {
  const finishedAt = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const container = { name: 'main', image: 'i', imageID: 'i', restartCount: 0, ready: false }
  const conditions = (status?.conditions ?? []).map((one) =>
    one.type === 'Ready' || one.type === 'ContainersReady' ? { ...one, status: 'False' } : one,
  )
  return {
    ...status,
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    conditions,
    containerStatuses: [{ ...container, state: { terminated: { exitCode, finishedAt } } }],
  }
}

/** Where the pod may go; undefined when every node is cordoned. */
function nodeFor(pod: Pod, nodes: Informer<Node>): string | undefined {
  const free = nodes.list().filter(({ spec }) => spec?.unschedulable !== true)
  const names = free.map(({ metadata }) => metadata.name ?? '').toSorted()
  // Daemons tolerate cordoned nodes.
  return (
    targetNode(pod) ?? names[(pod.metadata.uid ?? '').charCodeAt(0) % Math.max(1, names.length)]
  )
}

/** Plays them until the signal aborts, for nodes that are there. */
export async function playNodes(client: Client, signal: AbortSignal): Promise<void> {
  const resources = resourcesOf(client.dialect)
  const { clock, log } = client
  const podClient = client.resource<Pod>(resources.pods)
  const pods = createInformer({ client: podClient, clock, log })
  const nodes = createInformer({ client: client.resource<Node>(resources.nodes), clock, log })
  const report = (pod: Pod, status: object): Promise<unknown> =>
    podClient.updateStatus({ ...pod, status } as Pod)

  /** The one next thing to do about the pod. */
  const advance = async (pod: Pod): Promise<void> => {
    const { name = '', namespace, uid = '', deletionTimestamp } = pod.metadata
    const exitCode = exitCodeOf(pod)
    if (pod.spec?.nodeName === undefined) {
      const target = nodeFor(pod, nodes)
      if (deletionTimestamp !== undefined || target === undefined) return
      const binding = { metadata: { name, uid }, target: { kind: 'Node', name: target } }
      await podClient.createSubresource({ namespace, name }, 'binding', binding)
    } else if (isTerminal(pod) || deletionTimestamp !== undefined) {
      if (!isTerminal(pod)) await report(pod, endedStatus(pod, 137, clock.now()))
      else if (deletionTimestamp !== undefined)
        await podClient.delete(
          { namespace, name },
          { gracePeriodSeconds: 0, preconditions: { uid } },
        )
    } else if (pod.status?.phase !== 'Running') await report(pod, runningStatus(clock.now()))
    else if (exitCode !== undefined) await report(pod, endedStatus(pod, exitCode, clock.now()))
  }
  const done = new Map<string, string>()
  const look = async (): Promise<void> => {
    const all = pods.list()
    const keys = new Set(all.map(keyOf))
    for (const key of done.keys()) if (!keys.has(key)) done.delete(key)
    await Promise.all(
      all.map(async (pod) => {
        // The informer may not show yet what was done.
        if (done.get(keyOf(pod)) === pod.metadata.resourceVersion) return
        try {
          await advance(pod)
          if (isSettled(pod)) done.set(keyOf(pod), pod.metadata.resourceVersion ?? '')
        } catch {
          // The pod has changed, or the server is away: the next look sees to it.
        }
      }),
    )
  }
  const running = [pods.run(signal), nodes.run(signal)]
  while (!signal.aborted) {
    await look()
    await delay(lookMs, undefined, { signal }).catch(() => {})
  }
  await Promise.all(running)
}

/** Nothing is left to do until it changes. */
function isSettled(pod: Pod): boolean {
  const { deletionTimestamp } = pod.metadata
  if (deletionTimestamp !== undefined) return false
  return isTerminal(pod) || (pod.status?.phase === 'Running' && exitCodeOf(pod) === undefined)
}
