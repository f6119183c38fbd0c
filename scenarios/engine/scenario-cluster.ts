/** ScenarioCluster: what steps need of a cluster. A cluster of processes and an embedded one both provide it. */
import type { Dialect } from '../../components/api/dialect.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { Client } from '../../components/client/client.ts'
import type { Identity, IdentityCredentials } from '../../cluster/identity.ts'
import type { Lab } from '../../cluster/lab/lab.ts'
import type { BootstrapToken, TokenSecretOptions } from '../../cluster/plan/bootstrap-token.ts'

/** An agent that a step starts by hand. */
export interface AgentToStart {
  readonly node: string
  readonly token?: string | undefined
  readonly pin?: string | undefined
  readonly server?: string | undefined
}

export interface StartedAgent {
  /** Resolves when its node is Ready. Rejects with the signal's reason, and after `waitMs`. */
  joined(options: { readonly waitMs: number; readonly signal: AbortSignal }): Promise<void>
  /** Resolves when a line of its log matches. Rejects with the signal's reason. */
  logged(pattern: RegExp, signal: AbortSignal): Promise<void>
  /** The last lines of its log. */
  lines(): Promise<readonly string[]>
  /** Ends it. Idempotent. */
  stop(): Promise<void>
}

/** What a request to a node agent needs of the administrator. */
export interface AgentCredentials {
  /** PEM. */
  readonly ca: string
  readonly credentials: IdentityCredentials
}

export const partVerbs = ['kill', 'pause', 'resume', 'restart', 'stop', 'start'] as const
export type PartVerb = (typeof partVerbs)[number]

export interface ScenarioCluster {
  readonly dialect: Dialect
  readonly server: string
  /** `sha256:<hex>` of the CA's public key. */
  readonly caHash: string
  /** Marks the processes that a scenario starts. */
  readonly id: string
  /** The administrator's client. */
  readonly client: Client
  /** A client with another identity; the caller closes it. */
  clientAs(identity: Identity): Client
  createToken(
    options?: Partial<Omit<TokenSecretOptions, 'dialect' | 'nowMs'>>,
  ): Promise<BootstrapToken>
  /** Resolves when the node is Ready. */
  addNode(node: { readonly name: string; readonly simulated?: number }): Promise<void>
  /** Ends the node's agent and deletes its Node. */
  removeNode(name: string): Promise<void>
  /** Acts on a component, or on a node's agent. Rejects with what this form of a cluster cannot do. */
  act(verb: PartVerb, part: string): Promise<void>
  startAgent(agent: AgentToStart, clock: Clock): Promise<StartedAgent>
  agentCredentials(): AgentCredentials
  /** The folder on disk below which the node's agent keeps its checkpoints. */
  agentFolder(node: string): string
  /** Files for the commands that a scenario runs. */
  readonly files: {
    /** The administrator's. */
    readonly kubeconfig: string
    /** Folder for what processes write. */
    readonly logs: string
  }
  /** Counts what runs outside of the cluster: its time is real. Undefined: all time is. */
  readonly outside?: { begin(): () => void } | undefined
  /** Its clock and its faults. */
  readonly lab: Lab
}
