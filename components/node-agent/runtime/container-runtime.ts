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
  /** The id of the container that ended. */
  readonly id: string
  readonly startedMs: number
  readonly finishedMs: number
  readonly exitCode: number
  readonly signal?: number
  /** Upstream's word for why: Completed, Error, OOMKilled, ContainerStatusUnknown. */
  readonly reason: string
  readonly message?: string
}

/** One attempt at running a container of a pod. */
export interface RuntimeContainer {
  readonly id: string
  /** The container's name in the pod. */
  readonly name: string
  /** 0 for the first attempt; each restart adds 1. */
  readonly attempt: number
  /** The image in the container's spec at its start. */
  readonly image: string
  readonly imageId: string
  readonly state: ContainerRunning | ContainerExited
  /** How the previous attempt ended; set for restored containers. */
  readonly last?: ContainerExited | undefined
}

export type ProbeKind = 'startup' | 'readiness' | 'liveness'

/** The result of one probe. */
export interface ProbeFinding {
  readonly passes: boolean
  /** The probe's output, for the event about a failure. */
  readonly output: string
  /** In how many milliseconds it is another, if only time passes. Undefined: never. */
  readonly turnsInMs?: number | undefined
}

/** Reasons of containers that failed to start, and of failed checkpoints. Users see them in the container's status. */
export type RuntimeFaultReason =
  | 'ErrImagePull'
  | 'CreateContainerConfigError'
  | 'CreateContainerError'
  | 'RunContainerError'
  | 'Unimplemented'
  | 'DeadlineExceeded'
  | 'NotFound'
  | 'Unknown'

/** The runtime rejected the call or failed. */
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
  /** The container's setting, or the pod's; undefined leaves it to the runtime. */
  readonly seccompProfile: SeccompProfile | undefined
}

export interface CheckpointRequest {
  readonly containerId: string
  /** Absolute path of the archive to write; the folder exists and only its owner can enter it. */
  readonly location: string
  /** The caller's timeout in seconds; 0 is the runtime's default. */
  readonly timeoutSeconds: number
}

export interface LogLine {
  readonly timeMs: number
  readonly text: string
  /** Without a line break. */
  readonly isPartial?: true
}

/** The client's streams of an exec or attach. */
export interface CommandStreams {
  readonly stdin: Readable | undefined
  readonly stdout: Writable | undefined
  /** Undefined on a terminal, where stdout carries both. */
  readonly stderr: Writable | undefined
  readonly isTerminal: boolean
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

/** Callbacks of a runtime to the owner of a pod. */
export interface PodHost {
  /** A container ended, by itself or stopped. */
  readonly onExit: (container: RuntimeContainer) => void
  /** The environment variables of a container that started before this agent. Rejects with a RuntimeFault. */
  readonly environment: (container: Container) => Promise<Readonly<Record<string, string>>>
}

export interface ContainerRuntime {
  /** Scheme of container ids, and `<name>://<version>` in the node's info. */
  readonly name: string
  readonly version: string
  /** Undefined while healthy; otherwise the fault, which the node's Ready condition reports. */
  fault(): string | undefined
  /** Adds a pod; call it before any other call for the pod. Returns the pod's containers that started before this agent. */
  admitPod(pod: Pod, host: PodHost): readonly RuntimeContainer[]
  /** Whether the image is on the node, so that no pull is needed. */
  hasImage(image: string): boolean
  /** Rejects with a RuntimeFault. */
  pullImage(request: { pod: Pod; container: Container }): Promise<void>
  /** Resolves with the running container. Rejects with a RuntimeFault. */
  startContainer(request: StartRequest): Promise<RuntimeContainer>
  /** Stops the container, and kills it after `graceMs`. Resolves when it has exited. No-op for an unknown id. */
  stopContainer(id: string, graceMs: number): Promise<void>
  /** The pod's object changed (labels, annotations); containers keep running. */
  updatePod(pod: Pod): void
  /** Kills the pod's running containers and forgets all of them. */
  removePod(podUid: string): void
  /** Runs the probe once. */
  probe(id: string, kind: ProbeKind): Promise<ProbeFinding>
  /** Writes the archive. Rejects with a RuntimeFault: Unimplemented, DeadlineExceeded, NotFound or Unknown. */
  checkpoint(request: CheckpointRequest): Promise<void>
  /** The lines that the container has written so far, oldest first. */
  logs(id: string): readonly LogLine[]
  /** The lines that follow those of `logs` at this moment. Ends with the container, or when the signal aborts. */
  followLogs(id: string, signal: AbortSignal): AsyncIterable<readonly LogLine[]>
  /** Runs a command in the container. Resolves with its exit code. Rejects with a RuntimeFault. */
  exec(id: string, command: readonly string[], streams: CommandStreams): Promise<number>
  /** Attaches to the container's output until it ends. Rejects with a RuntimeFault. */
  attach(id: string, streams: CommandStreams): Promise<void>
  /** Connects to a port of the pod. Rejects if no container listens on it. */
  connect(podUid: string, port: number): Promise<Duplex>
  /** What a container uses; undefined of one that does not run. */
  usage(id: string): ContainerUsage | undefined
  /** What those containers of a node used that have ended since this agent started, in core seconds. */
  endedCoreSeconds(nodeName: string): number
  /** The id of the last try at the same container of the pod before this one, if that ended and is still known. */
  previous(id: string): string | undefined
}
