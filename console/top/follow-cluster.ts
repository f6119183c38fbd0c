/** followCluster: keeps the tables equal to the cluster: nodes and their leases, pods, events, and requests where there is a journal. */
import type { Lease, Node, Pod } from '../../components/api/generated/types.ts'
import { podRequests } from '../../components/api/pod-amounts.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { slimEvent } from '../slim/slim-event.ts'
import { slimLease, slimNode } from '../slim/slim-node.ts'
import { slimPod } from '../slim/slim-pod.ts'
import type { ConnectionWatch } from './connection-watch.ts'
import { followRequests } from '../../components/client/follow-requests.ts'
import { followRows, type FollowRows } from './follow-rows.ts'
import type { LiveTables, PaneName, PodRow } from './live-tables.ts'

export function podRow(pod: Pod): PodRow {
  const { milliCpu, memory } = podRequests(pod)
  return { ...slimPod(pod), cpuMilli: milliCpu, memoryBytes: memory }
}

interface Followed {
  readonly client: Client
  readonly tables: LiveTables
  readonly connection: ConnectionWatch
}

type Part<T extends KubeObject, R> = Pick<FollowRows<T, R>, 'toRow' | 'put' | 'namespace'> & {
  readonly resource: Resource
  readonly pane: PaneName
}

async function follow<T extends KubeObject, R>(
  { client, tables, connection }: Followed,
  part: Part<T, R>,
  signal: AbortSignal,
): Promise<void> {
  const { resource, pane, ...rest } = part
  await followRows<T, R>(
    {
      ...rest,
      client: client.resource<T>(resource),
      clock: client.clock,
      onReached: () => {
        connection.reached()
        tables.setNotice(pane, undefined)
      },
      onTrouble: (error) => {
        connection.failed(error)
        // 410: the reflector lists again.
        const isAnswer = isStatusError(error) && error.code !== 410
        if (isAnswer) tables.setNotice(pane, `${resource.plural} cannot be read: ${error.message}`)
      },
    },
    signal,
  )
}

/** The journal is one server's; what comes together is drawn together. */
async function followJournal({ client, tables }: Followed, signal: AbortSignal): Promise<void> {
  await followRequests(
    {
      rest: client.rest,
      clock: client.clock,
      onRequest: (record) => tables.addRequests([record]),
      onAbsent: (why) => tables.setNotice('requests', why),
    },
    signal,
  )
}

/** Runs until `signal` aborts; never rejects then. */
export async function followCluster(followed: Followed, signal: AbortSignal): Promise<void> {
  const { client, tables } = followed
  const resources = resourcesOf(client.dialect)
  const namespace = client.dialect.nodeLeaseNamespace
  const nodes: Part<Node, ReturnType<typeof slimNode>> = {
    resource: resources.nodes,
    pane: 'nodes',
    toRow: (node) => slimNode(node),
    put: (changes) => tables.putNodes(changes),
  }
  const leases: Part<Lease, ReturnType<typeof slimLease>> = {
    resource: resources.leases,
    pane: 'nodes',
    namespace,
    toRow: slimLease,
    put: (changes) =>
      tables.putLeases(changes.map(([key, row]) => [key.slice(namespace.length + 1), row])),
  }
  const pods: Part<Pod, PodRow> = {
    resource: resources.pods,
    pane: 'pods',
    toRow: podRow,
    put: (changes) => tables.putPods(changes),
  }
  const events: Part<KubeObject, ReturnType<typeof slimEvent>> = {
    resource: resources.events,
    pane: 'events',
    toRow: slimEvent,
    put: (changes) => tables.putEvents(changes),
  }
  const parts = [
    follow(followed, nodes, signal),
    follow(followed, leases, signal),
    follow(followed, pods, signal),
    follow(followed, events, signal),
    followJournal(followed, signal),
  ]
  try {
    await Promise.all(parts)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
