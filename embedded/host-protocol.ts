/** The messages between a thread that uses embedded clusters and the thread that hosts them. */
import type { Program } from '../cluster/plan/cluster-config.ts'
import type { EmbeddedClusterOptions, EmbeddedNode } from './embedded-cluster.ts'

/** A cluster as its user sees it. */
export interface HostedCluster {
  /** What it is called in later calls. */
  readonly cluster: number
  readonly server: string
  readonly authority: { readonly certificatePem: string; readonly privateKeyPem: string }
  readonly nodes: readonly string[]
  /** How far its clock is ahead of real time. */
  readonly aheadMs: number
}

export interface HostedImage {
  readonly image: number
  readonly resourceVersion: string
  readonly takenAtMs: number
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
  logs: { request: OfCluster & { readonly program: Program }; answer: readonly string[] }
  /** How far the clock is ahead then. */
  advance: { request: OfCluster & { readonly ms: number }; answer: number }
  snapshot: { request: OfCluster; answer: HostedImage }
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
