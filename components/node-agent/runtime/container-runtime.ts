/** ContainerRuntime: the interface between a node agent and a runtime of containers (upstream: CRI). */
import type { Duplex, Readable, Writable } from 'node:stream'
import type { Container, Pod, SeccompProfile } from '../../api/generated/types.ts'
import type { ContainerUsage } from './usage-meter.ts'

export interface ContainerRunning {
  readonly kind: 'running'
  readonly startedMs: number
}

export interface ContainerExited {
  readonly kind: 'exited'
  /** Of the container that ended. */
  readonly id: string
  readonly startedMs: number
  readonly finishedMs: number
  readonly exitCode: number
  readonly signal?: number
  /** Upstream's word for why: Completed, Error, OOMKilled, ContainerStatusUnknown. */
  readonly reason: string
  readonly message?: string
}

/** One try at running a container of a pod. */
export interface RuntimeContainer {
  readonly id: string
  /** The container's name in the pod. */
  readonly name: string
  /** 0 for the first try; rises with every restart. */
  readonly attempt: number
  /** As the container's specification named it when it started. */
  readonly image: string
  readonly imageId: string
  readonly state: ContainerRunning | ContainerExited
  /** How the try before it ended; known of one that is taken up. */
  readonly last?: ContainerExited | undefined
}

export type ProbeKind = 'startup' | 'readiness' | 'liveness'

/** The result of one probe. */
export interface ProbeFinding {
  readonly passes: boolean
  /** The probe's output, for the event about a failure. */
  readonly output: string
}

/** Reasons that users see on a container that could not start, and of failed checkpoints. */
export type RuntimeFaultReason =
  | 'ErrImagePull'
  | 'CreateContainerConfigError'
  | 'CreateContainerError'
  | 'RunContainerError'
  | 'Unimplemented'
  | 'DeadlineExceeded'
  | 'NotFound'
  | 'Unknown'

/** The runtime refused or failed. */
export class RuntimeFault extends Error {
  readonly reason: RuntimeFaultReason

  constructor(reason: RuntimeFaultReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'RuntimeFault'
    this.reason = reason
  }
}

export interface StartRequest {
  readonly pod: Pod
  readonly container: Container
  readonly attempt: number
  /** The variables of its environment. */
  readonly environment: Readonly<Record<string, string>>
  /** What applies to this container after inheritance; undefined leaves it to the runtime. */
  readonly seccompProfile: SeccompProfile | undefined
}

export interface CheckpointRequest {
  readonly containerId: string
  /** Absolute path of the archive to write; the folder exists and only its owner may enter it. */
  readonly location: string
  /** Seconds as the caller gave them; 0 means the runtime's own default. */
  readonly timeoutSeconds: number
}

export interface LogLine {
  readonly timeMs: number
  readonly text: string
  /** It has no line break. */
  readonly isPartial?: true
}

/** What a command in a container, or a view of what the container writes, is connected to. */
export interface CommandStreams {
  readonly stdin: Readable | undefined
  readonly stdout: Writable | undefined
  /** Undefined on a terminal, where everything goes to stdout. */
  readonly stderr: Writable | undefined
  readonly isTerminal: boolean
  /** Aborts when the reader is gone. */
  readonly signal: AbortSignal
}

/** The calls of a runtime to the owner of a pod. */
export interface PodHost {
  /** Called whenever a container ends, by itself or stopped. */
  readonly onExit: (container: RuntimeContainer) => void
  /** The variables of the environment of a container from before this agent started. Rejects with a RuntimeFault. */
  readonly environment: (container: Container) => Promise<Readonly<Record<string, string>>>
}

export interface ContainerRuntime {
  /** Scheme of container ids, and `<name>://<version>` in the node's info. */
  readonly name: string
  readonly version: string
  /** Undefined while healthy, else what is wrong: the node's Ready condition says it. */
  fault(): string | undefined
  /** Takes up a pod, before anything else is asked about it. Returns its containers from before this agent started. */
  admitPod(pod: Pod, host: PodHost): readonly RuntimeContainer[]
  /** Whether the image is on the node already; pulling is then skipped. */
  hasImage(image: string): boolean
  /** Rejects with a RuntimeFault. */
  pullImage(request: { pod: Pod; container: Container }): Promise<void>
  /** Resolves with the running container. Rejects with a RuntimeFault. */
  startContainer(request: StartRequest): Promise<RuntimeContainer>
  /** Asks it to end, kills it after `graceMs`; resolves once it has exited. An unknown id is no error. */
  stopContainer(id: string, graceMs: number): Promise<void>
  /** The pod's object changed (labels, annotations); containers go on. */
  updatePod(pod: Pod): void
  /** Forgets the pod's containers; they are killed if they still run. */
  removePod(podUid: string): void
  /** One look. */
  probe(id: string, kind: ProbeKind): Promise<ProbeFinding>
  /** Writes the archive. Rejects with a RuntimeFault: Unimplemented, DeadlineExceeded, NotFound or Unknown. */
  checkpoint(request: CheckpointRequest): Promise<void>
  /** Lines the container wrote so far, oldest first. */
  logs(id: string): readonly LogLine[]
  /** What it writes after those that `logs` gives at the moment of this call; ends with the container, or when the signal aborts. */
  followLogs(id: string, signal: AbortSignal): AsyncIterable<readonly LogLine[]>
  /** Runs a command in the container, to its end; resolves with its exit code. Rejects with a RuntimeFault. */
  exec(id: string, command: readonly string[], streams: CommandStreams): Promise<number>
  /** Shows what the container writes from now on, until it ends. Rejects with a RuntimeFault. */
  attach(id: string, streams: CommandStreams): Promise<void>
  /** Connects to a port inside the pod; rejects when nothing listens there. */
  connect(podUid: string, port: number): Promise<Duplex>
  /** What a container uses; undefined of one that does not run. */
  usage(id: string): ContainerUsage | undefined
  /** What those containers of a node used that have ended since this agent started, in core seconds. */
  endedCoreSeconds(nodeName: string): number
  /** The id of the last try at the same container of the pod before this one, if that ended and is still known. */
  previous(id: string): string | undefined
}
