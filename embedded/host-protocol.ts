/** The messages between a thread that uses embedded clusters and the thread that hosts them. */
import type { ChaosReport } from '../cluster/lab/chaos/chaos-report.ts'
import type { ChaosRequest } from '../cluster/lab/chaos/chaos-request.ts'
import type { FaultRequest } from '../cluster/lab/fault-request.ts'
import type { FaultStatus } from '../cluster/lab/fault-spec.ts'
import type { TimeState } from '../cluster/lab/lab.ts'
import type { TimeRequest } from '../cluster/lab/time-request.ts'
import type { Program } from '../cluster/plan/cluster-config.ts'
import type { AgentByHandOptions } from './agent-by-hand.ts'
import type { ClusterImage } from './cluster-image.ts'
import type { EmbeddedClusterOptions, EmbeddedNode } from './embedded-options.ts'
import type { PartVerb } from './embedded-part.ts'

/** A cluster as its user sees it. */
export interface HostedCluster {
  /** What it is called in later calls. */
  readonly cluster: number
  readonly server: string
  readonly authority: { readonly certificatePem: string; readonly privateKeyPem: string }
  readonly nodes: readonly string[]
  readonly time: TimeState
}

export interface HostedImage {
  readonly image: number
  readonly resourceVersion: string
  readonly takenAtMs: number
}

/** How far time has leapt, and what time it is. */
export interface Leap {
  readonly leaptMs: number
  readonly time: TimeState
}

interface OfCluster {
  readonly cluster: number
}
interface OfNode extends OfCluster {
  readonly name: string
}

/** Call -> what it takes and gives. */
export interface HostCalls {
  /** Starts a cluster for the first `start` with the same options. */
  prepare: { request: EmbeddedClusterOptions; answer: undefined }
  start: { request: EmbeddedClusterOptions; answer: HostedCluster }
  close: { request: OfCluster; answer: undefined }
  addNode: { request: OfCluster & { readonly node: EmbeddedNode }; answer: undefined }
  startNode: { request: OfNode; answer: undefined }
  stopNode: { request: OfNode; answer: undefined }
  removeNode: { request: OfNode; answer: undefined }
  /** Starts an agent by hand; `agentJoined` and `agentLogged` wait for it. */
  joinNode: { request: OfCluster & { readonly agent: AgentByHandOptions }; answer: undefined }
  agentJoined: { request: OfNode; answer: undefined }
  /** `pattern`: a regular expression. */
  agentLogged: { request: OfNode & { readonly pattern: string }; answer: undefined }
  agentLines: { request: OfNode; answer: readonly string[] }
  /** Ends it; what waits for it rejects. */
  agentLeaves: { request: OfNode; answer: undefined }
  /** On a component, or a node's agent. */
  act: { request: OfNode & { readonly verb: PartVerb }; answer: undefined }
  logs: { request: OfCluster & { readonly program: Program }; answer: readonly string[] }
  /** As `EmbeddedCluster.leap`. */
  leap: { request: OfCluster & { readonly ms: number }; answer: Leap }
  time: { request: OfCluster & { readonly ask: TimeRequest }; answer: TimeState }
  faults: {
    request: OfCluster & { readonly ask: FaultRequest }
    answer: readonly FaultStatus[]
  }
  chaos: { request: OfCluster & { readonly ask: ChaosRequest }; answer: ChaosReport }
  snapshot: { request: OfCluster; answer: HostedImage }
  /** A copy, with other arrays of bytes in the place of buffers. */
  image: { request: OfCluster; answer: ClusterImage }
  /** What a later `restore` goes back to by default is the cluster as it is now. */
  markStart: { request: OfCluster; answer: undefined }
  /** In the place of the cluster, on its port. `image` undefined: as it had started, or when it was marked. */
  restore: { request: OfCluster & { readonly image: number | undefined }; answer: HostedCluster }
  fork: { request: OfCluster; answer: HostedCluster }
  drop: { request: { readonly image: number }; answer: undefined }
}

export type HostCallName = keyof HostCalls

export interface HostCall<Name extends HostCallName = HostCallName> {
  readonly id: number
  readonly name: Name
  readonly request: HostCalls[Name]['request']
}

/** Sent by itself: the cluster's components that have failed; none when all of them run again. */
export interface HostFaults {
  readonly cluster: number
  readonly faults: readonly string[]
}

export type HostAnswer = { readonly id: number } & (
  | { readonly answer: unknown }
  | { readonly error: { readonly name: string; readonly message: string } }
)
