/** Fills the channel of nodes from Nodes and their Leases. */
import type { Lease, Node } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { Client } from '../../../components/client/client.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { SlimNode } from '../../protocol/live.ts'
import { slimLease, slimNode, type SlimLease } from '../../slim/slim-node.ts'
import { followSlim } from './slim-reader.ts'
import type { LiveTable } from './table.ts'

interface NamedLease {
  readonly name: string
  readonly lease: SlimLease
}

/** Rejects when the viewer may not list nodes. Without the right to list leases, nodes come without heartbeats. */
export async function followNodes(
  client: Client,
  table: LiveTable<SlimNode>,
  signal: AbortSignal,
): Promise<void> {
  const { nodes, leases } = resourcesOf(client.dialect)
  const held = new Map<string, SlimLease>()
  const whole = (node: SlimNode): SlimNode => ({ ...node, ...held.get(node.name) })
  const renewed = ({ name, lease }: NamedLease): void => {
    held.set(name, lease)
    const node = table.get(name)
    if (node !== undefined) table.set(whole(node))
  }
  const leaseSink = {
    replace: (rows: readonly NamedLease[]): void => rows.forEach(renewed),
    apply: (type: string, row: NamedLease): void => {
      if (type === 'DELETED') held.delete(row.name)
      else renewed(row)
    },
  }
  const nodeSink = {
    replace: (rows: readonly SlimNode[]): void => table.replace(rows.map(whole)),
    apply: (type: string, row: SlimNode): void => {
      if (type === 'DELETED') table.delete(row.name)
      else table.set(whole(row))
    },
  }
  const toLease = (object: KubeObject): NamedLease => ({
    name: object.metadata.name ?? '',
    lease: slimLease(object as Lease),
  })
  const toNode = (object: KubeObject): SlimNode => slimNode(object as Node)
  const namespace = client.dialect.nodeLeaseNamespace
  // Not awaited: a viewer may see nodes without leases.
  followSlim(
    { client, resource: leases, toRow: toLease, sink: leaseSink, namespace },
    signal,
  ).catch(() => {})
  await followSlim({ client, resource: nodes, toRow: toNode, sink: nodeSink }, signal)
}
