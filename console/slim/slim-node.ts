/** slimNode: a Node and its Lease as a row. Pure. */
import type { Lease, Node } from '../../components/api/generated/types.ts'
import { amountsOf } from '../../components/api/amounts.ts'
import { quantityValue } from '../../components/machinery/values/quantity.ts'
import type { SlimNode } from '../protocol/live.ts'

/** What a row needs of a Lease; both are absent for a Lease that was never renewed. */
export type SlimLease = Pick<SlimNode, 'renewedMs' | 'leaseMs'>

export function slimLease({ spec }: Pick<Lease, 'spec'>): SlimLease {
  const renewedMs = Date.parse(spec?.renewTime ?? '')
  const seconds = spec?.leaseDurationSeconds
  return {
    ...(Number.isNaN(renewedMs) ? {} : { renewedMs }),
    ...(seconds === undefined ? {} : { leaseMs: seconds * 1000 }),
  }
}

/** Conditions besides Ready are bad news unless they are False (upstream: NodeConditionType). */
function troubleOf({ status }: Node): string[] {
  const conditions = status?.conditions ?? []
  return conditions
    .filter(({ type, status: value }) => type !== 'Ready' && value !== 'False')
    .map(({ type }) => type)
}

/** `lease`: the node's own in the namespace of node leases; its name is the node's. */
export function slimNode(node: Node, lease: SlimLease = {}): SlimNode {
  const { metadata, spec, status } = node
  const allocatable = status?.allocatable ?? {}
  const { milliCpu, memory } = amountsOf({
    cpu: allocatable['cpu'] ?? '0',
    memory: allocatable['memory'] ?? '0',
  })
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    ready: status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown',
    trouble: troubleOf(node),
    taints: (spec?.taints ?? []).map(({ key, value, effect }) =>
      value ? `${key}=${value}:${effect}` : `${key}:${effect}`,
    ),
    unschedulable: spec?.unschedulable === true,
    maxPods: quantityValue(allocatable['pods'] ?? '0'),
    cpuMilli: milliCpu,
    memoryBytes: memory,
    ...lease,
  }
}
