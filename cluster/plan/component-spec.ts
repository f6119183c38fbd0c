/** Component specification: one process of the plan: its flags, and what has to be there before it starts. */
import type { EtcdCredentialName } from '../../certs/etcd-pki.ts'
import type { CredentialName } from '../../certs/pki.ts'
import type { ClusterConfig, Program } from './cluster-config.ts'

/** A file that must be there before the process starts. What goes into it may be secret, so it is only named here. */
type PlannedFile =
  | { readonly kind: 'kubeconfig'; readonly path: string; readonly credential: CredentialName }
  /** A JSON object of flag values that holds the bootstrap token. */
  | { readonly kind: 'bootstrap-token'; readonly path: string }
  /** Nothing secret: what the file says until the supervisor writes what it has learned; that is kept. */
  | { readonly kind: 'text'; readonly path: string; readonly text: string }

export interface ComponentSpec {
  /** Unique in the cluster: `api-server`, `api-server-2`, `scheduler`, or the node's name. */
  readonly name: string
  readonly program: Program
  /** A program that is not one of ours; absent: Node runs the bundle of `program`. */
  readonly executable?: string
  /** Answers 200 over plain HTTP once the process is ready; absent: the process itself says so. */
  readonly healthUrl?: string
  /** Where it listens; absent: at the cluster's address. */
  readonly address?: string
  /** Options of Node itself. */
  readonly nodeOptions: readonly string[]
  /** Flags of the program; never a secret, since `ps` shows them. */
  readonly args: readonly string[]
  readonly files: readonly PlannedFile[]
  /** Folders that must be there, readable by the owner alone. */
  readonly folders: readonly string[]
  /** Certificates from the cluster's pki that the process reads. */
  readonly certificates: readonly (CredentialName | EtcdCredentialName)[]
  /** Components that must be ready before it starts. */
  readonly dependsOn: readonly string[]
}

export type Flags = Readonly<Record<string, string>>

/** The command line: the plan's flags, then the user's for the program, then the component's own; later ones win. */
export function argsOf(
  program: Program,
  flags: Flags,
  config: ClusterConfig,
  own?: Flags,
): string[] {
  const extra = { ...config.extraFlags[program], ...own }
  const all: Record<string, string> = { ...flags, ...extra }
  // The file takes the place of the mode; the server refuses both (AUTHZ-028).
  const namesFile = extra['authorization-config'] !== undefined
  if (namesFile && extra['authorization-mode'] === undefined) delete all['authorization-mode']
  return Object.entries(all).map(([name, value]) => `--${name}=${value}`)
}
