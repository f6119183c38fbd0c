/** The panes of the screen, in their order: nodes, pods, requests, events. */
import type { RequestRecord } from '../../components/api/request-record.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import { humanDuration } from '../../components/machinery/values/duration.ts'
import type { Style } from '../../cluster/cli/terminal.ts'
import type { Health } from '../family/object-state.ts'
import { nodeHealth, nodeText, podHealth } from '../graph/cluster-picture.ts'
import type { SlimEvent, SlimNode } from '../protocol/live.ts'
import type { PaneName, PodRow } from './live-tables.ts'
import type { Column, Pane, PaneContext } from './pane.ts'

const styles: Readonly<Record<Health, Style | undefined>> = {
  good: undefined,
  waiting: 'yellow',
  bad: 'red',
  unknown: undefined,
}

const ago = (ms: number): string => humanDuration(Math.max(0, ms))
const cores = (milli: number): string => (milli / 1000).toFixed(milli % 1000 === 0 ? 0 : 1)
const gibibytes = (bytes: number): string => (bytes / 2 ** 30).toFixed(1)

/** How long ago the node renewed its lease; undefined without one. */
function heartbeatMs({ name }: SlimNode, { tables, nowMs }: PaneContext): number | undefined {
  const { renewedMs } = tables.leases.get(name) ?? {}
  return renewedMs === undefined ? undefined : nowMs - renewedMs
}

function heartbeatStyle(node: SlimNode, context: PaneContext): Style | undefined {
  const ageMs = heartbeatMs(node, context)
  const leaseMs = context.tables.leases.get(node.name)?.leaseMs
  if (ageMs === undefined || leaseMs === undefined) return undefined
  if (ageMs > leaseMs) return 'red'
  return ageMs > leaseMs / 2 ? 'yellow' : undefined
}

const nodeColumns: readonly Column<SlimNode>[] = [
  { title: 'NODE', cell: ({ name }) => name, sortBy: ({ name }) => name },
  { title: 'STATE', cell: nodeText, style: (node) => styles[nodeHealth(node)], sortBy: nodeText },
  {
    title: 'HEARTBEAT',
    cell: (node, context) => {
      const ageMs = heartbeatMs(node, context)
      return ageMs === undefined ? '-' : ago(ageMs)
    },
    style: heartbeatStyle,
    sortBy: (node, context) => heartbeatMs(node, context) ?? Number.MAX_VALUE,
  },
  {
    title: 'PODS',
    cell: ({ name, maxPods }, { tables }) => `${tables.useOf(name).pods}/${maxPods}`,
    sortBy: ({ name }, { tables }) => tables.useOf(name).pods,
  },
  {
    title: 'CPU',
    cell: ({ name, cpuMilli }, { tables }) =>
      `${cores(tables.useOf(name).cpuMilli)}/${cores(cpuMilli)}`,
    sortBy: ({ name, cpuMilli }, { tables }) => tables.useOf(name).cpuMilli / (cpuMilli || 1),
  },
  {
    title: 'MEMORY GiB',
    cell: ({ name, memoryBytes }, { tables }) =>
      `${gibibytes(tables.useOf(name).memoryBytes)}/${gibibytes(memoryBytes)}`,
    sortBy: ({ name, memoryBytes }, { tables }) =>
      tables.useOf(name).memoryBytes / (memoryBytes || 1),
  },
  {
    title: 'TAINTS',
    cell: ({ taints }) => taints.join(' '),
    sortBy: ({ taints }) => taints.length,
  },
]

const nodePane: Pane<SlimNode> = {
  name: 'nodes',
  title: 'Nodes',
  columns: nodeColumns,
  firstSort: 0,
  rows: ({ nodes }) => nodes.values(),
  keyOf: ({ name }) => name,
  textOf: (node) => `${node.name} ${nodeText(node)} ${node.taints.join(' ')}`.toLowerCase(),
  detailsOf: ({ name }) => ({ kind: 'object', resource: 'nodes', key: name }),
  count: ({ nodes }) => nodes.size,
}

const podColumns: readonly Column<PodRow>[] = [
  { title: 'POD', cell: ({ key }) => key, sortBy: ({ key }) => key },
  {
    title: 'STATUS',
    cell: ({ status }) => status,
    style: (pod) => styles[podHealth(pod)],
    sortBy: ({ status }) => status,
  },
  {
    title: 'READY',
    cell: ({ ready }) => (ready ? 'yes' : 'no'),
    sortBy: ({ ready }) => (ready ? 0 : 1),
  },
  {
    title: 'RESTARTS',
    cell: ({ restarts }) => String(restarts),
    sortBy: ({ restarts }) => restarts,
  },
  { title: 'NODE', cell: ({ node }) => node || '-', sortBy: ({ node }) => node },
  { title: 'OWNER', cell: ({ owner = '-' }) => owner, sortBy: ({ owner = '' }) => owner },
]

const podPane: Pane<PodRow> = {
  name: 'pods',
  title: 'Pods',
  columns: podColumns,
  firstSort: 0,
  rows: ({ pods }) => pods.values(),
  keyOf: ({ key }) => key,
  textOf: ({ key, status, node, owner = '' }) => `${key} ${status} ${node} ${owner}`.toLowerCase(),
  detailsOf: ({ key }) => ({ kind: 'object', resource: 'pods', key }),
  count: ({ pods }) => pods.size,
}

/** `pods/status shop/web`, or a path. */
function targetOf({ resource, group, subresource, namespace, name, path }: RequestRecord): string {
  if (resource === '') return path
  const kind = group === '' ? resource : `${resource}.${group}`
  const what = subresource === '' ? kind : `${kind}/${subresource}`
  const key = name === '' ? namespace : keyOf({ metadata: { namespace, name } })
  return key === '' ? what : `${what} ${key}`
}

function causeOf({ cause }: RequestRecord): string {
  if (cause === undefined) return ''
  const key = cause.key === undefined ? '' : ` ${cause.key}`
  return `${cause.kind} ${cause.what}${key}`
}

function requestStyle({ status, decision }: RequestRecord): Style | undefined {
  if (status >= 500) return 'red'
  return status >= 400 || decision === 'deny' ? 'yellow' : undefined
}

const requestColumns: readonly Column<RequestRecord>[] = [
  {
    title: 'AGE',
    cell: ({ atMs }, { nowMs }) => ago(nowMs - atMs),
    sortBy: ({ seq }) => seq,
  },
  {
    title: 'STATUS',
    cell: ({ status }) => String(status),
    style: requestStyle,
    sortBy: ({ status }) => status,
  },
  { title: 'VERB', cell: ({ verb }) => verb, sortBy: ({ verb }) => verb },
  { title: 'WHAT', cell: targetOf, sortBy: targetOf },
  { title: 'USER', cell: ({ user }) => user, sortBy: ({ user }) => user },
  {
    title: 'MS',
    cell: ({ durationMs }) => durationMs.toFixed(1),
    sortBy: ({ durationMs }) => durationMs,
  },
  { title: 'CAUSE', cell: causeOf, sortBy: causeOf },
]

const requestPane: Pane<RequestRecord> = {
  name: 'requests',
  title: 'Requests',
  columns: requestColumns,
  firstSort: 0,
  rows: ({ requests }) => requests,
  keyOf: ({ seq }) => String(seq),
  textOf: (record) =>
    `${record.status} ${record.verb} ${targetOf(record)} ${record.user} ${causeOf(record)}`.toLowerCase(),
  detailsOf: (record) => ({ kind: 'value', title: `request ${record.id}`, value: record }),
  count: ({ requests }) => requests.length,
}

const eventColumns: readonly Column<SlimEvent>[] = [
  {
    title: 'AGE',
    cell: ({ atMs }, { nowMs }) => ago(nowMs - atMs),
    sortBy: ({ atMs }) => atMs,
  },
  {
    title: 'TYPE',
    cell: ({ type }) => type,
    style: ({ type }) => (type === 'Warning' ? 'yellow' : undefined),
    sortBy: ({ type }) => type,
  },
  { title: 'REASON', cell: ({ reason }) => reason, sortBy: ({ reason }) => reason },
  { title: 'OBJECT', cell: ({ regarding }) => regarding, sortBy: ({ regarding }) => regarding },
  { title: 'COUNT', cell: ({ count }) => String(count), sortBy: ({ count }) => count },
  { title: 'MESSAGE', cell: ({ message }) => message, sortBy: ({ message }) => message },
]

const eventPane: Pane<SlimEvent> = {
  name: 'events',
  title: 'Events',
  columns: eventColumns,
  firstSort: 0,
  rows: ({ events }) => events.values(),
  keyOf: ({ key }) => key,
  textOf: ({ type, reason, regarding, message }) =>
    `${type} ${reason} ${regarding} ${message}`.toLowerCase(),
  detailsOf: ({ key }) => ({ kind: 'object', resource: 'events', key }),
  count: ({ events }) => events.size,
}

export const panes = {
  nodes: nodePane,
  pods: podPane,
  requests: requestPane,
  events: eventPane,
} as const satisfies Record<PaneName, unknown>

export const paneNames: readonly PaneName[] = ['nodes', 'pods', 'requests', 'events']

/** A pane of rows of any type. */
export function paneOf(name: PaneName): Pane<unknown> {
  return panes[name] as unknown as Pane<unknown>
}
