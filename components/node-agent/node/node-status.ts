/** NodeStatus: what the agent reports of its node, and when a report is due. Pure. */
import type {
  NodeAddress,
  NodeCondition,
  NodeStatus,
  NodeSystemInfo,
} from '../../api/generated/types.ts'
import { timestamp } from '../../component-base/clock.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import type { Pressure } from './eviction-thresholds.ts'
import type { HostInfo } from './host-info.ts'
import { untilTurn } from './turn.ts'
import type { Turn } from './turn.ts'

/** The release whose behaviour this agent has, as `kubectl get nodes` shows it. */
export const agentVersion = 'v1.32.0+skiff'

/** A status is reported at least this often, and at once when something other than heartbeat times changed. */
export const reportIntervalMs = 5 * 60_000

export interface NodeStatusInput {
  readonly host: HostInfo
  /** Resource lists in their final form; `allocatable` is never above `capacity`. */
  readonly capacity: Readonly<Record<string, string>>
  readonly allocatable: Readonly<Record<string, string>>
  /** Resources that the reported allocatable has no more. */
  readonly dropped?: readonly string[]
  readonly addresses: readonly NodeAddress[]
  /** Where the agent's own server listens. */
  readonly port: number
  /** `simulated://0.1.0` */
  readonly runtimeVersion: string
  readonly pressure: Pressure
  /** Why the node cannot run pods; undefined when it can. */
  readonly fault: string | undefined
  readonly nowMs: number
}

type Verdict = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>

/** `[type, under pressure, without pressure]` with upstream's reasons and messages. */
function pressureConditions(pressure: Pressure): Verdict[] {
  const verdict = (
    type: string,
    isTrue: boolean,
    bad: readonly [string, string],
    good: readonly [string, string],
  ): Verdict => {
    const [reason, message] = isTrue ? bad : good
    return { type, status: isTrue ? 'True' : 'False', reason, message }
  }
  return [
    verdict(
      'MemoryPressure',
      pressure.memory,
      ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
      ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
    ),
    verdict(
      'DiskPressure',
      pressure.disk,
      ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
      ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
    ),
    verdict(
      'PIDPressure',
      pressure.processes,
      ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
      ['KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    ),
  ]
}

function readyCondition(fault: string | undefined): Verdict {
  return fault === undefined
    ? {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'kubelet is posting ready status',
      }
    : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: fault }
}

/** The heartbeat time is always now; the transition time moves only when the status does. */
function conditions(input: NodeStatusInput, old: readonly NodeCondition[]): NodeCondition[] {
  const now = timestamp(input.nowMs)
  return [...pressureConditions(input.pressure), readyCondition(input.fault)].map((verdict) => {
    const before = old.find(({ type }) => type === verdict.type)
    const isSame = before?.status === verdict.status && before.lastTransitionTime !== undefined
    return {
      type: verdict.type,
      status: verdict.status,
      lastHeartbeatTime: now,
      lastTransitionTime: isSame ? (before.lastTransitionTime as string) : now,
      reason: verdict.reason ?? '',
      message: verdict.message ?? '',
    }
  })
}

function systemInfo({ host, runtimeVersion }: NodeStatusInput): NodeSystemInfo {
  return {
    machineID: host.machineId,
    systemUUID: host.systemUuid,
    bootID: host.bootId,
    kernelVersion: host.kernelVersion,
    osImage: host.osImage,
    containerRuntimeVersion: runtimeVersion,
    kubeletVersion: agentVersion,
    kubeProxyVersion: agentVersion,
    operatingSystem: host.operatingSystem,
    architecture: host.architecture,
  }
}

/** The parts of the status that the agent owns. Conditions of others (NetworkUnavailable) are not among them. */
export function nodeStatusOf(input: NodeStatusInput, old: NodeStatus | undefined): NodeStatus {
  return {
    capacity: { ...input.capacity },
    allocatable: { ...input.allocatable },
    conditions: conditions(input, old?.conditions ?? []),
    addresses: [...input.addresses],
    daemonEndpoints: { kubeletEndpoint: { Port: input.port } },
    nodeInfo: systemInfo(input),
  }
}

function withoutTimes(status: NodeStatus): unknown {
  return {
    ...status,
    conditions: status.conditions?.map(({ type, status: is, reason, message }) => [
      type,
      is,
      reason,
      message,
    ]),
  }
}

/** Whether `next` says anything that `last` did not; heartbeat times do not count. */
export function isStatusNews(last: NodeStatus | undefined, next: NodeStatus): boolean {
  return last === undefined || !deepEqual(withoutTimes(last), withoutTimes(next))
}

/** Whether the server has another verdict than was reported: node-lifecycle says Unknown of a node it has lost. */
export function isOverruled(reported: NodeStatus, now: NodeStatus | undefined): boolean {
  return (reported.conditions ?? []).some(
    ({ type, status }) => now?.conditions?.find((one) => one.type === type)?.status !== status,
  )
}

/** When the next report is due, in ms from now: at once with news, else at the end of the interval, or at the node's turn. */
export function reportDueIn(at: {
  isNews: boolean
  lastReportMs: number | undefined
  nowMs: number
  turn?: Turn | undefined
}): number {
  const { isNews, lastReportMs, nowMs, turn } = at
  if (isNews || lastReportMs === undefined) return 0
  const afterMs =
    turn === undefined ? reportIntervalMs : untilTurn(turn, reportIntervalMs, lastReportMs)
  return Math.max(0, lastReportMs + afterMs - nowMs)
}
