/** ClusterForm: what differs between a cluster of processes and an embedded one; `cluster.ts` adds what they share. */
import type { Dialect } from '../components/api/dialect.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { LabChaos, LabFaults, LabTime } from '../cluster/lab/lab.ts'
import type { ClusterImage } from '../embedded/cluster-image.ts'
import type {
  AgentToStart,
  PartVerb,
  ScenarioCluster,
  StartedAgent,
} from '../scenarios/engine/scenario-cluster.ts'
import type { Component, NodeOptions, StartClusterOptions } from './types.ts'

/** A certificate and its key, PEM. */
export interface CredentialPem {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

export interface ClusterForm {
  readonly form: NonNullable<StartClusterOptions['form']>
  /** `https://127.0.0.1:PORT`. */
  readonly server: string
  /** Signs the client certificates of users. */
  readonly authority: CredentialPem
  readonly dialect: Dialect
  /** The cluster's time, for what this process does for it: deadlines, certificates. */
  readonly clock: Clock
  readonly time: LabTime
  readonly faults: LabFaults
  readonly chaos: LabChaos
  /** A cluster of processes as scenarios see it. */
  readonly processes?: ScenarioCluster
  /** Aborts with an error that names the component when one fails for good. When all run again, there is another signal. */
  fault(): AbortSignal
  nodeNames(): readonly string[]
  /** Resolves when the node is Ready, as `startNode` does. */
  addNode(node: NodeOptions): Promise<void>
  stopNode(name: string): Promise<void>
  startNode(name: string): Promise<void>
  /** On a component, or a node's agent. Undefined: `processes` does it. */
  act?(verb: PartVerb, part: string): Promise<void>
  /** Starts an agent by hand. Undefined: `processes` does it. */
  startAgent?(agent: AgentToStart): Promise<StartedAgent>
  /** How fast its time goes. */
  speed?(): number
  /** Time moves to the next due timer and on, until something is written, or this much has passed. Resolves with how much did. */
  leap?(ms: number): Promise<number>
  /** The agent ends; its Node is deleted. */
  removeNode(name: string): Promise<void>
  logs(component: Component): Promise<readonly string[]>
  /** The handle of a snapshot that this form keeps. */
  snapshot(): Promise<FormSnapshot>
  /** All of the cluster, for a simulation in this thread. */
  image(): Promise<ClusterImage>
  restore(id: string): Promise<void>
  /** `reset` goes back to the cluster as it is now. */
  markStart(): Promise<void>
  reset(): Promise<void>
  /** A form of its own, which its caller closes. */
  fork(): Promise<ClusterForm>
  close(): Promise<void>
}

export interface FormSnapshot {
  readonly id: string
  readonly resourceVersion: string
  readonly takenAtMs: number
  drop(): void
}
