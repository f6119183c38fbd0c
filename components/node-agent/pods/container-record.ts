/** ContainerRecord: what the agent knows of one container of a pod; plan and status are computed from it. */
import type { Container, Pod } from '../../api/generated/types.ts'
import type {
  ContainerExited,
  ContainerRunning,
  RuntimeContainer,
} from '../runtime/container-runtime.ts'

/**
 * `sidecar` is an init container with restartPolicy Always: it runs beside the main ones. `ephemeral` ones come to a pod that
 * is there, to look into it: they run once, and do not affect the pod's state.
 */
export type ContainerRole = 'init' | 'sidecar' | 'main' | 'ephemeral'

/** Not running: it never did (`reason` says what it waits for), or it cannot be started. */
export interface ContainerWaiting {
  readonly kind: 'waiting'
  readonly reason: string
  readonly message?: string
}

export interface ContainerRecord {
  /** As the pod has it now. */
  spec: Container
  readonly role: ContainerRole
  id: string | undefined
  /** Of the container that is there or was last; empty before the first. */
  image: string
  imageId: string
  state: ContainerWaiting | ContainerRunning | ContainerExited
  /** How it ended the time before. */
  last: ContainerExited | undefined
  restarts: number
  /** The startup probe has passed, or the container has none. */
  isStarted: boolean
  /** The readiness probe passes, or the container has none. */
  isReady: boolean
  /** A start or stop is under way. */
  isBusy: boolean
  /** It was stopped because its specification changed: it is started again whatever the pod's policy. */
  isReplaced: boolean
  /** Tries that failed in a row; drives the back-off. */
  failures: number
  /** It is not started before this time. */
  retryAtMs: number
}

function newRecord(pod: Pod, spec: Container, role: ContainerRole): ContainerRecord {
  // Upstream: kubelet_pods.go, convertToAPIContainerStatuses.
  const hasInit = (pod.spec?.initContainers ?? []).length > 0
  return {
    spec,
    role,
    id: undefined,
    image: '',
    imageId: '',
    state: { kind: 'waiting', reason: hasInit ? 'PodInitializing' : 'ContainerCreating' },
    last: undefined,
    restarts: 0,
    isStarted: false,
    isReady: false,
    isBusy: false,
    isReplaced: false,
    failures: 0,
    retryAtMs: 0,
  }
}

/** Records of all containers of a pod, in the order in which they start. */
export function newRecords(pod: Pod): ContainerRecord[] {
  return [
    ...(pod.spec?.initContainers ?? []).map((spec) =>
      newRecord(pod, spec, spec.restartPolicy === 'Always' ? 'sidecar' : 'init'),
    ),
    ...(pod.spec?.containers ?? []).map((spec) => newRecord(pod, spec, 'main')),
    ...newEphemeral(pod, []),
  ]
}

/** Records of the pod's ephemeral containers that have none yet. */
export function newEphemeral(pod: Pod, known: readonly ContainerRecord[]): ContainerRecord[] {
  return (pod.spec?.ephemeralContainers ?? [])
    .filter(({ name }) => !known.some(({ spec }) => spec.name === name))
    .map((spec) => newRecord(pod, spec, 'ephemeral'))
}

/** Takes over what the runtime says of the container. */
export function takeOver(record: ContainerRecord, container: RuntimeContainer): void {
  record.id = container.id
  record.isReplaced = false
  record.image = container.image
  record.imageId = container.imageId
  record.restarts = container.attempt
  record.state = container.state
  record.last = container.last ?? record.last
}

/**
 * Whether what runs, or ran last, is not what the pod wants now (upstream: kuberuntime_manager.go, containerChanged, whose hash
 * is of name and image).
 */
export function isChanged({ id, image, spec }: ContainerRecord): boolean {
  return id !== undefined && image !== (spec.image ?? '')
}

/** Takes over the container's specification. One with another image waits for nothing that the former brought about. */
export function takeOverSpec(record: ContainerRecord, spec: Container): void {
  const isOther = record.spec.image !== spec.image
  record.spec = spec
  if (!isOther) return
  record.failures = record.state.kind === 'exited' ? 1 : 0
  record.retryAtMs = 0
}

/** Restart back-off: the first restart is at once, then 10 s, doubling up to 5 minutes. */
const initialBackoffMs = 10_000
const maxBackoffMs = 5 * 60_000
/** A container that ran this long starts over with its back-off. */
const forgivenAfterMs = 2 * maxBackoffMs

/** The delay after `failures` failures in a row, in ms. */
export function restartDelay(failures: number): number {
  return failures < 1
    ? 0
    : Math.min(initialBackoffMs * 2 ** Math.min(failures - 1, 20), maxBackoffMs)
}

/** Notes that the container ended; it may be restarted after its back-off. */
export function noteExit(record: ContainerRecord, exited: ContainerExited): void {
  if (exited.finishedMs - exited.startedMs >= forgivenAfterMs) record.failures = 0
  record.state = exited
  record.isReady = false
  record.isStarted = false
  record.retryAtMs = exited.finishedMs + restartDelay(record.failures)
  record.failures += 1
}

/** Notes that the container could not be started. */
export function noteStartFailure(
  record: ContainerRecord,
  failure: { reason: string; message: string; nowMs: number },
): void {
  const { reason, message, nowMs } = failure
  record.failures += 1
  // Only pulls wait longer and longer (upstream: pod_workers.go, workerBackOffPeriod; images/image_manager.go).
  const tries = reason === 'ErrImagePull' ? record.failures : 1
  record.retryAtMs = nowMs + restartDelay(tries)
  record.state = { kind: 'waiting', reason, message }
}

/** Whether the pod's policy wants the container again after this end. */
export function wantsRestart(pod: Pod, record: ContainerRecord, exited: ContainerExited): boolean {
  if (record.role === 'sidecar' || record.isReplaced) return true
  if (record.role === 'ephemeral') return false
  const policy = pod.spec?.restartPolicy ?? 'Always'
  // An init container that has done its work is never run again.
  if (record.role === 'init') return policy !== 'Never' && exited.exitCode !== 0
  return policy === 'Always' || (policy === 'OnFailure' && exited.exitCode !== 0)
}
