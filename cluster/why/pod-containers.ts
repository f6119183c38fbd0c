/** Containers that do not run or are not ready, by what their statuses, probes and events say. Pure. */
import type {
  Container,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
  Probe,
} from '../../components/api/generated/types.ts'
import { conditionsSeen, eventsAbout, eventsSeen, seen } from './evidence.ts'
import type { Evidence, Finding } from './finding.ts'
import { countText, objectText, sentence } from './names.ts'
import type { Related } from './related.ts'

interface Seen {
  readonly pod: Pod
  readonly status: ContainerStatus
  /** Absent when the specification does not hold the container. */
  readonly spec: Container | undefined
  readonly related: Related
}

/** `exit code 1 (Error)`, with the container's own message. */
export function exitText({ exitCode, signal, reason, message }: ContainerStateTerminated): string {
  const by = signal ? `signal ${signal}` : `exit code ${exitCode}`
  return `${by}${reason ? ` (${reason})` : ''}${message ? `: ${message.trim()}` : ''}`
}

function logsCommand({ pod, status }: Seen, flags = ''): string {
  const { name, namespace } = pod.metadata
  const where = namespace ? ` -n ${namespace}` : ''
  return `kubectl logs ${name}${where} -c ${status.name}${flags}`
}

function describeCommand(pod: Pod): string {
  return `kubectl describe ${objectText(pod)}`
}

function lastExit({ pod, status }: Seen): Evidence[] {
  const last = status.state?.terminated ?? status.lastState?.terminated
  if (last === undefined) return []
  const restarts = `${countText(status.restartCount, 'restart')} so far`
  return [
    seen(
      pod,
      `container ${status.name} ended last with ${exitText(last)}; ${restarts}`,
      last.finishedAt,
    ),
  ]
}

/** What an exit says about its reason (signals: 128 and the number). */
function exitAdvice({ exitCode, reason }: ContainerStateTerminated): string[] {
  if (reason === 'OOMKilled') return ['raise the memory limit of the container, or let it use less']
  if (exitCode === 137)
    return ['it was killed: look for failed liveness probes and for memory at its limit']
  if (exitCode === 0) {
    return [
      'it ends by itself with success: for work that ends use a Job, or restartPolicy: OnFailure',
    ]
  }
  if (exitCode === 126 || exitCode === 127) {
    return ['the command cannot be run: check command and args of the container']
  }
  return []
}

function crashFinding(about: Seen, message: string): Finding {
  const { pod, status, related } = about
  const last = status.lastState?.terminated
  const how = last === undefined ? 'ends again and again' : `ended with ${exitText(last)}`
  return {
    cause: 'CrashLoopBackOff',
    message: `Container ${status.name} ${how}; the node waits before it starts it again.`,
    evidence: [
      seen(pod, message || `container ${status.name} waits: CrashLoopBackOff`),
      ...lastExit(about),
      ...eventsSeen(related, pod, ['BackOff', 'Unhealthy', 'Killing']),
    ],
    next: [
      `read the log of the last run: ${logsCommand(about, ' --previous')}`,
      ...(last === undefined ? [] : exitAdvice(last)),
    ],
  }
}

function imageFinding(about: Seen, reason: string, message: string): Finding {
  const { pod, status, spec, related } = about
  const image = spec?.image ?? status.image
  return {
    cause: reason,
    message: `The image ${image} of container ${status.name} cannot be pulled.`,
    evidence: [
      seen(pod, message || `container ${status.name} waits: ${reason}`),
      ...eventsSeen(related, pod, ['Failed', 'BackOff', 'ErrImageNeverPull', 'InspectFailed']),
    ],
    next: ['check the name and tag of the image, that the registry has it, and imagePullSecrets'],
  }
}

const imageReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
])

/** What to do about the reasons of waiting that are neither crashes nor images. */
const waitingAdvice: Readonly<Record<string, string>> = {
  CreateContainerConfigError:
    'create the Secret, ConfigMap or key that it names, or make it optional',
  RunContainerError: 'check command, args and mounts of the container',
}

/** Events that tell why a node cannot create the containers of a pod. */
export const mountReasons = ['FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox']

export function mountAdvice(pod: Pod, reason: string | undefined): string {
  if (reason === 'FailedMount') return 'create what the volume names, or correct the volume'
  return `correct what the event names; see all events: ${describeCommand(pod)}`
}

/** The node creates the container, or fails to. */
function creatingFinding({ pod, status, related }: Seen): Finding {
  const { nodeName } = pod.spec ?? {}
  const [newest] = eventsAbout(related, pod, mountReasons)
  const waits = seen(
    pod,
    `container ${status.name} waits: ContainerCreating`,
    pod.status?.startTime,
  )
  if (newest === undefined) {
    return {
      cause: 'ContainerCreating',
      message: `Node ${nodeName} is creating container ${status.name}.`,
      evidence: [waits],
      next: [`wait, or read the log of its node: skiff logs ${nodeName}`],
    }
  }
  return {
    cause: newest.reason ?? 'FailedMount',
    message: sentence(`Container ${status.name} cannot be created: ${newest.message}`),
    evidence: [waits, ...eventsSeen(related, pod, mountReasons)],
    next: [mountAdvice(pod, newest.reason)],
  }
}

function waitingFinding(about: Seen): Finding | undefined {
  const { pod, status, related } = about
  const { reason = '', message = '' } = status.state?.waiting ?? {}
  if (reason === 'CrashLoopBackOff') return crashFinding(about, message)
  if (imageReasons.has(reason)) return imageFinding(about, reason, message)
  if (reason === '' || reason === 'PodInitializing') return undefined
  if (reason === 'ContainerCreating') return creatingFinding(about)
  return {
    cause: reason,
    message: sentence(`Container ${status.name} cannot start: ${message || reason}`),
    evidence: [
      seen(pod, `container ${status.name} waits: ${reason}`),
      ...eventsSeen(related, pod, ['Failed', ...mountReasons]),
    ],
    next: [waitingAdvice[reason] ?? `see the events of the pod: ${describeCommand(pod)}`],
  }
}

/** `GET :8080/healthz`, `TCP :5432`, `exec cat /ready`. */
export function probeText(probe: Probe): string {
  const { httpGet, tcpSocket, exec, grpc } = probe
  if (httpGet !== undefined) return `GET :${httpGet.port}${httpGet.path ?? '/'}`
  if (tcpSocket !== undefined) return `TCP :${tcpSocket.port}`
  if (grpc !== undefined) return `gRPC :${grpc.port}`
  return `exec ${(exec?.command ?? []).join(' ')}`
}

/** A container that runs and is not ready: its startup or its readiness probe fails, or has not succeeded yet. */
function unreadyFinding(about: Seen): Finding {
  const { pod, status, spec, related } = about
  const isStarting = spec?.startupProbe !== undefined && status.started !== true
  const probe = isStarting ? spec.startupProbe : spec?.readinessProbe
  const kind = isStarting ? 'startup' : 'readiness'
  const since = status.state?.running?.startedAt
  const evidence = [
    seen(pod, `container ${status.name} runs and is not ready`, since),
    ...eventsSeen(related, pod, ['Unhealthy', 'ProbeWarning']),
    ...conditionsSeen(pod, 'ContainersReady'),
  ]
  if (probe === undefined) {
    const message = `Container ${status.name} runs and is not ready, without a readiness probe.`
    return { cause: 'NotReady', message, evidence, next: ['wait: its node reports it ready soon'] }
  }
  return {
    cause: isStarting ? 'StartupProbeFails' : 'ReadinessProbeFails',
    message: `The ${kind} probe (${probeText(probe)}) of container ${status.name} does not succeed.`,
    evidence,
    next: [
      `find out why the container does not answer: ${logsCommand(about)}`,
      `if it needs more time, raise initialDelaySeconds, timeoutSeconds or failureThreshold of its ${kind} probe`,
    ],
  }
}

function terminatedFinding(about: Seen, end: ContainerStateTerminated): Finding {
  const { status } = about
  return {
    cause: end.reason === 'OOMKilled' ? 'OOMKilled' : 'ContainerFailed',
    message: `Container ${status.name} ended with ${exitText(end)}.`,
    evidence: lastExit(about),
    next: [`read its log: ${logsCommand(about)}`, ...exitAdvice(end)],
  }
}

/** The containers wait for an init container, as they should; it may take longer than people expect. */
function initializingFinding(about: Seen): Finding {
  const { pod, status } = about
  const since = status.state?.running?.startedAt
  return {
    cause: 'Initializing',
    message: `Init container ${status.name} runs; the containers after it start once it has ended.`,
    evidence: [seen(pod, `init container ${status.name} runs`, since)],
    next: [`wait, or see what it does: ${logsCommand(about)}`],
  }
}

function containerFinding(about: Seen, isInit: boolean): Finding | undefined {
  const { state = {}, ready } = about.status
  const { terminated } = state
  if (terminated !== undefined) {
    const isDone = terminated.exitCode === 0
    return isDone ? undefined : terminatedFinding(about, terminated)
  }
  if (state.running === undefined) return waitingFinding(about)
  // A sidecar is an init container that goes on running.
  if (isInit && about.spec?.restartPolicy !== 'Always') return initializingFinding(about)
  return ready ? undefined : unreadyFinding(about)
}

/** The findings about a pod's containers, init containers first. */
export function containerFindings(pod: Pod, related: Related): Finding[] {
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {}
  const find = (
    statuses: readonly ContainerStatus[],
    specs: readonly Container[],
    isInit: boolean,
  ) =>
    statuses.flatMap((status) => {
      const spec = specs.find(({ name }) => name === status.name)
      return containerFinding({ pod, status, spec, related }, isInit) ?? []
    })
  return [
    ...find(initContainerStatuses, initContainers, true),
    ...find(containerStatuses, containers, false),
  ]
}
