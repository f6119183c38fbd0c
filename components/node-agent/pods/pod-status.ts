/** PodStatus: what the agent reports of a pod, computed from the states of its containers. Pure. */
import type {
  ContainerState,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
} from '../../api/generated/types.ts'
import { timestamp } from '../../component-base/clock.ts'
import type { ContainerRecord, ContainerRole, ContainerWaiting } from './container-record.ts'
import { wantsRestart } from './container-record.ts'
import type { ContainerExited, ContainerRunning } from '../runtime/container-runtime.ts'
import { hasInitFailed, isInitialized, isWorkDone } from './pod-plan.ts'

export interface PodStatusInput {
  readonly pod: Pod
  /** The status last reported, if it is newer than the pod's object. */
  readonly previous: PodStatus | undefined
  readonly records: readonly ContainerRecord[]
  /** Undefined until the pod has its network. */
  readonly podIp: string | undefined
  readonly hostIp: string
  /** When the agent took the pod up. */
  readonly startedMs: number
  /** The pod failed as a whole (deadline, rejection): reason and message in upstream's words. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined
  /** Nothing runs any more and nothing will. */
  readonly isOver: boolean
  /** Scheme of container ids. */
  readonly runtimeName: string
  readonly nowMs: number
}

const maxBackoffText = (ms: number): string => {
  const seconds = Math.round(ms / 1000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

function terminated(state: ContainerExited, runtimeName: string): ContainerState {
  return {
    terminated: {
      exitCode: state.exitCode,
      ...(state.signal === undefined ? {} : { signal: state.signal }),
      reason: state.reason,
      ...(state.message === undefined ? {} : { message: state.message }),
      startedAt: timestamp(state.startedMs),
      finishedAt: timestamp(state.finishedMs),
      containerID: `${runtimeName}://${state.id}`,
    },
  }
}

function waiting({ reason, message }: ContainerWaiting): ContainerState {
  return { waiting: { reason, ...(message === undefined ? {} : { message }) } }
}

function running(state: ContainerRunning): ContainerState {
  return { running: { startedAt: timestamp(state.startedMs) } }
}

function statesOf(
  input: PodStatusInput,
  record: ContainerRecord,
): Pick<ContainerStatus, 'state' | 'lastState'> {
  const { pod, nowMs, runtimeName } = input
  const { state, last } = record
  const lastState = last === undefined ? {} : terminated(last, runtimeName)
  if (state.kind === 'running') return { state: running(state), lastState }
  if (state.kind === 'exited') {
    const isWaiting =
      !input.isOver &&
      input.failure === undefined &&
      pod.metadata.deletionTimestamp === undefined &&
      wantsRestart(pod, record, state) &&
      record.retryAtMs > nowMs
    if (!isWaiting) return { state: terminated(state, runtimeName), lastState }
    const { namespace = '', name = '', uid = '' } = pod.metadata
    const delay = maxBackoffText(record.retryAtMs - state.finishedMs)
    const message =
      `back-off ${delay} restarting failed container=${record.spec.name} ` +
      `pod=${name}_${namespace}(${uid})`
    return {
      state: waiting({ kind: 'waiting', reason: 'CrashLoopBackOff', message }),
      lastState: terminated(state, runtimeName),
    }
  }
  return { state: waiting(waitingState(input, record, state)), lastState }
}

function waitingState(
  { nowMs }: PodStatusInput,
  record: ContainerRecord,
  state: ContainerWaiting,
): ContainerWaiting {
  if (state.reason === 'ErrImagePull' && record.retryAtMs - nowMs > 0) {
    // The failure itself shows first; from the next look on, that the agent waits.
    if (record.failures <= 1 && !record.isBusy) return state
    const message = `Back-off pulling image "${record.spec.image ?? ''}": ${state.message ?? ''}`
    return { kind: 'waiting', reason: 'ImagePullBackOff', message }
  }
  return state
}

function containerStatus(input: PodStatusInput, record: ContainerRecord): ContainerStatus {
  const { spec, role, state } = record
  const isUp = state.kind === 'running'
  // An init container counts as ready once it has done its work.
  const isReady =
    role === 'init'
      ? state.kind === 'exited' && state.exitCode === 0
      : role !== 'ephemeral' && isUp && record.isReady && input.failure === undefined
  return {
    name: spec.name,
    ...statesOf(input, record),
    ready: isReady,
    restartCount: record.restarts,
    image: record.image || (spec.image ?? ''),
    imageID: record.imageId,
    ...(record.id === undefined ? {} : { containerID: `${input.runtimeName}://${record.id}` }),
    started: isUp && record.isStarted,
    ...volumeMounts(record),
  }
}

/** What the container has mounted, once it was created (upstream: kubelet_pods.go; KEP-3857). */
function volumeMounts({ id, spec }: ContainerRecord): Pick<ContainerStatus, 'volumeMounts'> {
  const { volumeMounts: mounts = [] } = spec
  if (id === undefined || mounts.length === 0) return {}
  return {
    volumeMounts: mounts.map(({ name, mountPath, readOnly = false }) => ({
      name,
      mountPath,
      ...(readOnly && { readOnly, recursiveReadOnly: 'Disabled' }),
    })),
  }
}

function phaseOf(input: PodStatusInput): string {
  const { pod, records, failure, isOver } = input
  const main = records.filter(({ role }) => role === 'main')
  const hasFailed =
    failure !== undefined ||
    hasInitFailed(pod, records) ||
    main.some(({ state }) => state.kind === 'exited' && state.exitCode !== 0)
  if (isOver) {
    // Stopped before it ever ran: its work was not done.
    const hasRun = main.every(({ state }) => state.kind === 'exited')
    return hasFailed || !hasRun ? 'Failed' : 'Succeeded'
  }
  if (isWorkDone(pod, records)) return 'Running'
  if (!isInitialized(records)) return 'Pending'
  const neverRan = main.some(({ state, last }) => state.kind === 'waiting' && last === undefined)
  return neverRan ? 'Pending' : 'Running'
}

type Verdict = { status: 'True' } | { status: 'False'; reason: string; message?: string }

function unready(words: string, records: readonly ContainerRecord[]): string {
  return `containers with ${words} status: [${records.map(({ spec }) => spec.name).join(' ')}]`
}

function initialized(input: PodStatusInput, phase: string): Verdict & { reason?: string } {
  const { records } = input
  const pending = records.filter((record) => !isInitialized([record]))
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' }
  if (pending.length === 0) return { status: 'True' }
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: unready('incomplete', pending),
  }
}

function containersReady(input: PodStatusInput, phase: string): Verdict {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' }
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' }
  const down = input.records.filter(
    (record) =>
      (record.role === 'main' || record.role === 'sidecar') &&
      !containerStatus(input, record).ready,
  )
  if (down.length === 0) return { status: 'True' }
  return { status: 'False', reason: 'ContainersNotReady', message: unready('unready', down) }
}

function ready(input: PodStatusInput, containers: Verdict): Verdict {
  if (containers.status === 'False') return containers
  const conditions = input.pod.status?.conditions ?? []
  const missing: string[] = []
  for (const { conditionType } of input.pod.spec?.readinessGates ?? []) {
    const gate = conditions.find(({ type }) => type === conditionType)
    if (gate === undefined) {
      missing.push(
        `corresponding condition of pod readiness gate "${conditionType}" does not exist.`,
      )
    } else if (gate.status !== 'True') {
      missing.push(
        `the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`,
      )
    }
  }
  if (missing.length === 0) return containers
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: missing.join(', ') }
}

/** A condition whose transition time moves only with its status. */
function condition(
  input: PodStatusInput,
  type: string,
  verdict: { status: string; reason?: string; message?: string },
): PodCondition {
  const before = input.previous ?? input.pod.status
  const old = before?.conditions?.find((each) => each.type === type)
  const isSame = old?.status === verdict.status && old.lastTransitionTime !== undefined
  return {
    type,
    ...verdict,
    lastTransitionTime: isSame ? (old.lastTransitionTime as string) : timestamp(input.nowMs),
  }
}

/**
 * The parts of the status that the agent owns; other conditions, the QoS class and the rest stay as they are in `pod`.
 * Equal input gives equal output but for transition times of conditions that changed.
 */
export function podStatusOf(input: PodStatusInput): PodStatus {
  const { pod, records, podIp, hostIp, failure } = input
  const phase = phaseOf(input)
  const containers = containersReady(input, phase)
  const isNetworkUp = podIp !== undefined && phase !== 'Succeeded' && phase !== 'Failed'
  const statuses = (...roles: ContainerRole[]): ContainerStatus[] =>
    records
      .filter(({ role }) => roles.includes(role))
      .map((record) => containerStatus(input, record))
  const initStatuses = statuses('init', 'sidecar')
  const ephemeralStatuses = statuses('ephemeral')
  return {
    phase,
    ...(failure === undefined ? {} : { reason: failure.reason, message: failure.message }),
    conditions: [
      condition(input, 'PodReadyToStartContainers', { status: isNetworkUp ? 'True' : 'False' }),
      condition(input, 'Initialized', initialized(input, phase)),
      condition(input, 'Ready', ready(input, containers)),
      condition(input, 'ContainersReady', containers),
      condition(input, 'PodScheduled', { status: 'True' }),
    ],
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    ...(podIp === undefined ? {} : { podIP: podIp, podIPs: [{ ip: podIp }] }),
    startTime: input.previous?.startTime ?? pod.status?.startTime ?? timestamp(input.startedMs),
    ...(initStatuses.length === 0 ? {} : { initContainerStatuses: initStatuses }),
    containerStatuses: statuses('main'),
    ...(ephemeralStatuses.length === 0 ? {} : { ephemeralContainerStatuses: ephemeralStatuses }),
  }
}
