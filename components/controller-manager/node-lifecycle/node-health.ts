/** A node's heartbeats as the controller saw them, aged by its own clock (upstream: tryUpdateNodeHealth). Pure. */
import type { Lease, Node, NodeCondition } from '../../api/generated/types.ts'
import { timestamp } from '../../component-base/clock.ts'
import { findCondition } from '../conditions.ts'

export interface NodeHealth {
  /** When a sign of life was last seen to change. The node's own timestamps are only compared, never believed. */
  readonly seenAtMs: number
  /** The time of the last heartbeat in the status; undefined while there is no Ready condition. */
  readonly heartbeat: string | undefined
  /** The time of the lease's last renewal, as its holder wrote it. */
  readonly renewal: string | undefined
}

const usualLeaseSeconds = 40

export interface GracePeriods {
  /** For a node that has reported before. */
  readonly monitorMs: number
  /** For a node that never has. */
  readonly startupMs: number
}

export function readyOf(node: Node): NodeCondition | undefined {
  return findCondition(node.status?.conditions, 'Ready')
}

/** The health after a look at the node and its lease: either one's change is a sign of life. */
export function observe(
  known: NodeHealth | undefined,
  seen: { readonly node: Node; readonly lease: Lease | undefined },
  nowMs: number,
): NodeHealth {
  const { node, lease } = seen
  const heartbeat = readyOf(node)?.lastHeartbeatTime
  const renewal = lease?.spec?.renewTime ?? known?.renewal
  if (known === undefined) {
    const created = Date.parse(node.metadata.creationTimestamp ?? '')
    const isSilent = heartbeat === undefined && renewal === undefined && !Number.isNaN(created)
    return { seenAtMs: isSilent ? created : nowMs, heartbeat, renewal }
  }
  const isSign = known.heartbeat !== heartbeat || known.renewal !== renewal
  return { seenAtMs: isSign ? nowMs : known.seenAtMs, heartbeat, renewal }
}

export function isSilent(
  health: NodeHealth,
  node: Node,
  options: GracePeriods & { readonly nowMs: number },
): boolean {
  const graceMs = readyOf(node) === undefined ? options.startupMs : options.monitorMs
  return options.nowMs > health.seenAtMs + graceMs
}

/** Whether two renewals of a lease have not come that should have. An agent renews it four times in its duration. */
export function isOverdue(
  { seenAtMs }: NodeHealth,
  lease: Lease | undefined,
  nowMs: number,
): boolean {
  const { leaseDurationSeconds } = lease?.spec ?? {}
  return nowMs - seenAtMs > (leaseDurationSeconds ?? usualLeaseSeconds) * 500
}

/** Those a node agent reports; that of the network is another's to report. */
const reported = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

/** The conditions of a node that is not heard of any more; undefined when they say so already. */
export function unknownConditions(node: Node, nowMs: number): NodeCondition[] | undefined {
  const now = timestamp(nowMs)
  const old = node.status?.conditions ?? []
  const next = old.map((condition) =>
    !reported.includes(condition.type) || condition.status === 'Unknown'
      ? condition
      : {
          ...condition,
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
          lastTransitionTime: now,
        },
  )
  for (const type of reported) {
    if (findCondition(old, type) !== undefined) continue
    next.push({
      type,
      status: 'Unknown',
      reason: 'NodeStatusNeverUpdated',
      message: 'Kubelet never posted node status.',
      lastHeartbeatTime: node.metadata.creationTimestamp ?? now,
      lastTransitionTime: now,
    })
  }
  return next.some((condition, index) => condition !== old[index]) ? next : undefined
}
