/** Snapshot: what the screen would show now, read once, for pipes and scripts. */
import { styled, table } from '../../cluster/cli/terminal.ts'
import { plain } from '../../cluster/cli/why-request-text.ts'
import type { Lease, Node, Pod } from '../../components/api/generated/types.ts'
import type { RequestRecord } from '../../components/api/request-record.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { SlimEvent, SlimNode } from '../protocol/live.ts'
import { readRows } from '../slim/read-rows.ts'
import { slimEvent } from '../slim/slim-event.ts'
import { slimLease, slimNode } from '../slim/slim-node.ts'
import { podRow } from './follow-cluster.ts'
import { absenceOf } from '../../components/client/follow-requests.ts'
import { LiveTables, type PaneName, type PodRow } from './live-tables.ts'
import { PaneRows } from './pane-rows.ts'
import { paneNames, paneOf } from './panes.ts'
import { firstView } from './view-state.ts'

/** Rows of a pane as text; `-o json` has all of them. */
const mostShown = 50
const mostRequests = 500

export interface Snapshot {
  readonly nodes: readonly SlimNode[]
  readonly pods: readonly PodRow[]
  readonly requests: readonly RequestRecord[]
  readonly events: readonly SlimEvent[]
  /** Why a pane is empty. */
  readonly notices: Partial<Record<PaneName, string>>
}

/** Of what the user may not read, a notice; errors that are no answer reject. */
async function readPart<R>(
  tables: LiveTables,
  pane: PaneName,
  read: () => Promise<R>,
): Promise<R | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!isStatusError(error)) throw error
    const absence = pane === 'requests' ? absenceOf(error) : undefined
    tables.setNotice(pane, absence ?? `${pane} cannot be read: ${error.message}`)
    return undefined
  }
}

export async function readSnapshot(client: Client): Promise<LiveTables> {
  const resources = resourcesOf(client.dialect)
  const tables = new LiveTables()
  const namespace = client.dialect.nodeLeaseNamespace
  const requests = async (): Promise<readonly RequestRecord[]> => {
    const path = `/explain/requests?limit=${mostRequests}`
    const answer = await client.rest.json({ method: 'GET', path })
    return (answer as { readonly items: readonly RequestRecord[] }).items
  }
  const [nodes, leases, pods, events, records] = await Promise.all([
    readPart(tables, 'nodes', () => readRows(client.resource<Node>(resources.nodes), slimNodeOf)),
    readPart(tables, 'nodes', () =>
      readRows(client.resource<Lease>(resources.leases), leaseOf, { selection: { namespace } }),
    ),
    readPart(tables, 'pods', () => readRows(client.resource<Pod>(resources.pods), podRow)),
    readPart(tables, 'events', () => readRows(client.resource(resources.events), slimEvent)),
    readPart(tables, 'requests', requests),
  ])
  tables.putLeases(leases?.rows ?? [])
  tables.putNodes((nodes?.rows ?? []).map((row) => [row.name, row]))
  tables.putPods((pods?.rows ?? []).map((row) => [row.key, row]))
  tables.putEvents((events?.rows ?? []).map((row) => [row.key, row]))
  tables.addRequests(records ?? [])
  return tables
}

const slimNodeOf = (node: Node): SlimNode => slimNode(node)
const leaseOf = (lease: Lease) => [lease.metadata.name ?? '', slimLease(lease)] as const

/** Nodes with the heartbeat that their leases tell. */
export function snapshotJson(tables: LiveTables): Snapshot {
  return {
    nodes: [...tables.nodes.values()].map((node) => ({ ...node, ...tables.leases.get(node.name) })),
    pods: [...tables.pods.values()],
    requests: tables.requests,
    events: [...tables.events.values()],
    notices: Object.fromEntries(tables.notices),
  }
}

/** Each pane as a table, in the order in which the screen would show it. */
export function snapshotText(
  tables: LiveTables,
  { clock, colors }: { readonly clock: Client['clock']; readonly colors: boolean },
): string {
  const context = { tables, nowMs: clock.now() }
  const { panes } = firstView()
  const parts = paneNames.map((name) => {
    const pane = paneOf(name)
    const rows = new PaneRows(name, clock).get(panes[name].order, context)
    const heading = styled(`${pane.title} (${rows.length})`, 'bold', colors)
    const notice = tables.notices.get(name)
    if (notice !== undefined) return `${heading}\n${plain(notice)}\n`
    const shown = rows.slice(0, mostShown)
    const titles = pane.columns.map(({ title }) => title)
    const cells = shown.map((row) => pane.columns.map(({ cell }) => plain(cell(row, context))))
    const more = rows.length > shown.length ? `and ${rows.length - shown.length} more\n` : ''
    return `${heading}\n${rows.length === 0 ? '' : table([titles, ...cells])}${more}`
  })
  return parts.join('\n')
}
