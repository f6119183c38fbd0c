/** Cluster configuration: what `up` was asked for, as it is kept in the state directory. It holds no secret. */
import { dialectNamed } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import type { Stage } from '../../components/stage-runner/stage.ts'
import { ClusterError } from '../cluster-error.ts'
import { readJsonFile, removeHint, writePrivateFile } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import type { EtcdConfig } from './etcd-config.ts'

/** The programs a cluster runs; each but etcd is a bundle of that name. */
export type Program =
  | 'api-server'
  | 'controller-manager'
  | 'scheduler'
  | 'node-agent'
  | 'load-balancer'
  | 'stage-runner'
  | 'console'
  | 'etcd'

/** Those of every cluster. */
export const programs: readonly Program[] = [
  'api-server',
  'controller-manager',
  'scheduler',
  'node-agent',
]

/** Flags by name without dashes, given to every process of a program in addition to the plan's own; they win over those. */
export type ExtraFlags = Readonly<Partial<Record<Program, Readonly<Record<string, string>>>>>

export interface NodeConfig {
  readonly name: string
  /** How many simulated nodes its one process carries, named `<name>-0` and so on; absent: the one node `name`. */
  readonly simulated?: number
  /** Flags of its agent, in addition to the plan's own and those of all agents; they win over both. */
  readonly flags?: Readonly<Record<string, string>>
}

export interface ClusterConfig {
  readonly name: string
  /** Told apart from a former cluster of the same name; marks its processes. */
  readonly id: string
  readonly dialect: Dialect['name']
  /** Where the API server, or the load balancer in front of several, listens, as advertised to clients; an address, not a name. */
  readonly address: string
  readonly port: number
  readonly serviceRange: string
  /** `sha256:<hex>` of the cluster CA's public key. */
  readonly caHash: string
  readonly nodes: readonly NodeConfig[]
  readonly extraFlags: ExtraFlags
  /** Holds the state; absent: a file of the API server. */
  readonly etcd?: EtcdConfig
  /** Where the API servers behind a load balancer listen; absent: one API server, without a balancer. Other machines may join. */
  readonly apiServers?: readonly { readonly address: string; readonly port: number }[]
  /** API servers on other machines that the load balancer passes on to as well, as HOST:PORT. */
  readonly peers?: readonly string[]
  /** How many of them run; absent: one. */
  readonly controllerManagers?: number
  readonly schedulers?: number
  /** It runs a console. */
  readonly console?: boolean
  /** Its stage runner plays them; absent: it has none. */
  readonly stages?: readonly Stage[]
}

/** The address as a URL has it: in brackets if it is IPv6. */
export function urlHost(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

export function serverUrl(config: Pick<ClusterConfig, 'address' | 'port'>): string {
  return `https://${urlHost(config.address)}:${config.port}`
}

/**
 * The name by which clients verify the server. Behind the load balancer of a machine that joined a control plane are servers of
 * other machines, whose certificates do not hold this machine's address; the name of the Service is in all. Undefined: the address.
 */
export function serverNameOf(config: ClusterConfig): string | undefined {
  if (config.peers === undefined) return undefined
  return `${dialectOf(config).apiServerService}.default.svc`
}

export function hasBalancer({ apiServers }: ClusterConfig): boolean {
  return apiServers !== undefined
}

/** The component at the cluster's address: once it is ready, the cluster serves. */
export function frontOf(config: ClusterConfig): 'load-balancer' | 'api-server' {
  return hasBalancer(config) ? 'load-balancer' : 'api-server'
}

export function dialectOf(config: Pick<ClusterConfig, 'dialect'>): Dialect {
  const dialect = dialectNamed(config.dialect)
  if (dialect === undefined) throw new ClusterError('usage', `unknown dialect "${config.dialect}"`)
  return dialect
}

/** The names of the Node objects that a process of that configuration registers. */
export function nodeNames(node: NodeConfig): string[] {
  const { name, simulated } = node
  if (simulated === undefined) return [name]
  return Array.from({ length: simulated }, (_, index) => `${name}-${index}`)
}

export function writeClusterConfig(paths: StatePaths, config: ClusterConfig): void {
  writePrivateFile(paths.config, `${JSON.stringify(config, undefined, 2)}\n`)
}

/** What others rely on without looking; written by hand it may be anything. */
function isWhole(config: Partial<ClusterConfig> | null): config is ClusterConfig {
  const texts = [config?.name, config?.id, config?.dialect, config?.address, config?.caHash]
  return (
    texts.every((text) => typeof text === 'string' && text !== '') &&
    Number.isInteger(config?.port) &&
    Array.isArray(config?.nodes) &&
    config.nodes.every((node) => typeof node?.name === 'string')
  )
}

/** The configuration in a text; undefined for any other text. */
export function parseClusterConfig(text: string): ClusterConfig | undefined {
  try {
    const config = JSON.parse(text) as Partial<ClusterConfig> | null
    return isWhole(config) ? config : undefined
  } catch {
    return undefined
  }
}

/** The stored configuration, or undefined without one. A damaged one is an error that names the file. */
export function readClusterConfig(paths: StatePaths): ClusterConfig | undefined {
  const config = readJsonFile<Partial<ClusterConfig> | null>(paths.config)
  if (config === undefined || isWhole(config)) return config
  throw new ClusterError(
    'failed',
    `${paths.config} is damaged: it is not a cluster's configuration`,
    {
      hint: removeHint(paths),
    },
  )
}
