/** Plan: from a cluster's configuration to the processes it needs. Pure: it decides flags, files and order; it does nothing. */
import { join } from 'node:path'
import type { CredentialName } from '../../certs/pki.ts'
import { dialectOf, serverUrl } from './cluster-config.ts'
import type { ClusterConfig, NodeConfig, Program } from './cluster-config.ts'
import type { StatePaths } from '../state/state-dir.ts'

/**
 * Environment of every process: glibc's allocator gives large blocks back to the system at once. By default it raises its own
 * threshold with every large block that is freed (mallopt(3), M_MMAP_THRESHOLD), and keeps hundreds of MB after a load of
 * large objects (docs/performance.md). Others ignore it.
 */
export const allocatorSettings: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
}

/**
 * Node's own SQLite still announces itself as experimental in every log. Measured: a third less memory under a load of writes,
 * at the same speed; and what a start or a load leaves can be collected (docs/performance.md).
 */
export const apiServerNodeOptions: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=16',
  '--expose-gc',
]

/** A file that must be there before the process starts. What goes into it may be secret, so it is only named here. */
type PlannedFile =
  | { readonly kind: 'kubeconfig'; readonly path: string; readonly credential: CredentialName }
  /** A JSON object of flag values that holds the bootstrap token. */
  | { readonly kind: 'bootstrap-token'; readonly path: string }

export interface ComponentSpec {
  /** Unique in the cluster: `api-server`, `scheduler`, or the node's name. */
  readonly name: string
  readonly program: Program
  /** Options of Node itself. */
  readonly nodeOptions: readonly string[]
  /** Flags of the program; never a secret, since `ps` shows them. */
  readonly args: readonly string[]
  readonly files: readonly PlannedFile[]
  /** Folders that must be there, readable by the owner alone. */
  readonly folders: readonly string[]
  /** Certificates from the cluster's pki that the process reads. */
  readonly certificates: readonly CredentialName[]
  /** Components that must be ready before it starts. */
  readonly dependsOn: readonly string[]
}

/** Pod addresses of the cluster: room for 1,024 nodes of 256 addresses. */
const podRange = '10.244.0.0/14'

/** Addresses of the simulated load balancer: reserved for benchmarks and for documentation (RFC 2544, RFC 3849). */
const balancerRanges = '198.18.0.0/16,2001:db8::/112'

type Flags = Readonly<Record<string, string>>

function argsOf(program: Program, flags: Flags, config: ClusterConfig, own?: Flags): string[] {
  const extra = { ...config.extraFlags[program], ...own }
  const all: Record<string, string> = { ...flags, ...extra }
  // The file takes the place of the mode; the server refuses both (AUTHZ-028).
  const namesFile = extra['authorization-config'] !== undefined
  if (namesFile && extra['authorization-mode'] === undefined) delete all['authorization-mode']
  return Object.entries(all).map(([name, value]) => `--${name}=${value}`)
}

function planApiServer(config: ClusterConfig, paths: StatePaths): ComponentSpec {
  const pki = (file: string): string => join(paths.pki, file)
  const flags: Flags = {
    dialect: config.dialect,
    'bind-address': config.address,
    'secure-port': String(config.port),
    'advertise-address': config.address,
    store: `sqlite:${paths.store}`,
    'tls-cert-file': pki('apiserver.crt'),
    'tls-private-key-file': pki('apiserver.key'),
    'client-ca-file': pki('ca.crt'),
    'kubelet-client-certificate': pki('apiserver-kubelet-client.crt'),
    'kubelet-client-key': pki('apiserver-kubelet-client.key'),
    'requestheader-client-ca-file': pki('front-proxy-ca.crt'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': pki('front-proxy-client.crt'),
    'proxy-client-key-file': pki('front-proxy-client.key'),
    // Nothing carries the addresses of Services here.
    'enable-aggregator-routing': 'true',
    'service-account-issuer': `https://${dialectOf(config).apiServerService}.default.svc.cluster.local`,
    'service-account-key-file': pki('sa.pub'),
    'service-account-signing-key-file': pki('sa.key'),
    'service-cluster-ip-range': config.serviceRange,
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'enable-bootstrap-token-auth': 'true',
    'metrics-api': 'true',
  }
  return {
    name: 'api-server',
    program: 'api-server',
    nodeOptions: apiServerNodeOptions,
    args: argsOf('api-server', flags, config),
    files: [],
    folders: [],
    certificates: ['apiserver', 'apiserver-kubelet-client', 'front-proxy-client'],
    dependsOn: [],
  }
}

function planControllerManager(config: ClusterConfig, paths: StatePaths): ComponentSpec {
  const pki = (file: string): string => join(paths.pki, file)
  const kubeconfig = join(paths.dir, 'controller-manager.kubeconfig')
  const flags: Flags = {
    dialect: config.dialect,
    'bind-address': config.address,
    'secure-port': '0',
    'tls-cert-file': pki('controller-manager-serving.crt'),
    'tls-private-key-file': pki('controller-manager-serving.key'),
    'client-ca-file': pki('ca.crt'),
    kubeconfig,
    'cluster-signing-cert-file': pki('ca.crt'),
    'cluster-signing-key-file': pki('ca.key'),
    'root-ca-file': pki('ca.crt'),
    'service-account-private-key-file': pki('sa.key'),
    'use-service-account-credentials': 'true',
    'allocate-node-cidrs': 'true',
    'cluster-cidr': podRange,
    'service-cluster-ip-range': config.serviceRange,
    'simulated-load-balancer-range': balancerRanges,
    controllers: '*,bootstrapsigner,tokencleaner',
    'leader-elect': 'true',
  }
  return {
    name: 'controller-manager',
    program: 'controller-manager',
    nodeOptions: ['--max-semi-space-size=2'],
    args: argsOf('controller-manager', flags, config),
    files: [{ kind: 'kubeconfig', path: kubeconfig, credential: 'controller-manager' }],
    folders: [],
    certificates: ['controller-manager', 'controller-manager-serving'],
    dependsOn: ['api-server'],
  }
}

function planScheduler(config: ClusterConfig, paths: StatePaths): ComponentSpec {
  const kubeconfig = join(paths.dir, 'scheduler.kubeconfig')
  const flags: Flags = {
    dialect: config.dialect,
    'bind-address': config.address,
    'secure-port': '0',
    'tls-cert-file': join(paths.pki, 'scheduler-serving.crt'),
    'tls-private-key-file': join(paths.pki, 'scheduler-serving.key'),
    'client-ca-file': join(paths.pki, 'ca.crt'),
    kubeconfig,
    'leader-elect': 'true',
  }
  return {
    name: 'scheduler',
    program: 'scheduler',
    nodeOptions: ['--max-semi-space-size=2'],
    args: argsOf('scheduler', flags, config),
    files: [{ kind: 'kubeconfig', path: kubeconfig, credential: 'scheduler' }],
    folders: [],
    certificates: ['scheduler', 'scheduler-serving'],
    dependsOn: ['api-server'],
  }
}

/** The process of one node, or of one crowd of simulated nodes. */
export function planNode(
  node: NodeConfig,
  config: ClusterConfig,
  paths: StatePaths,
): ComponentSpec {
  const rootDir = join(paths.nodes, node.name)
  const certDir = join(rootDir, 'pki')
  const tokenFile = join(rootDir, 'bootstrap.json')
  const flags: Flags = {
    config: tokenFile,
    dialect: config.dialect,
    server: serverUrl(config),
    'discovery-token-ca-cert-hash': config.caHash,
    'node-name': node.name,
    'root-dir': rootDir,
    'cert-dir': certDir,
    address: config.address,
    port: '0',
    ...(node.simulated === undefined ? {} : { nodes: String(node.simulated) }),
  }
  return {
    name: node.name,
    program: 'node-agent',
    // Young objects die young in an agent: a small nursery halves its memory and costs nothing at its load.
    nodeOptions: ['--max-semi-space-size=1'],
    args: argsOf('node-agent', flags, config, node.flags),
    files: [{ kind: 'bootstrap-token', path: tokenFile }],
    folders: [rootDir, certDir],
    certificates: [],
    dependsOn: ['api-server'],
  }
}

/** All processes of the cluster, each after those it depends on. */
export function planCluster(config: ClusterConfig, paths: StatePaths): ComponentSpec[] {
  return [
    planApiServer(config, paths),
    planControllerManager(config, paths),
    planScheduler(config, paths),
    ...config.nodes.map((node) => planNode(node, config, paths)),
  ]
}

/** The plan in steps: each step's components depend on earlier steps only, so they can start at once. Throws on a cycle. */
export function startOrder(specs: readonly ComponentSpec[]): ComponentSpec[][] {
  const steps: ComponentSpec[][] = []
  const done = new Set<string>()
  let left = [...specs]
  while (left.length > 0) {
    const step = left.filter((spec) => spec.dependsOn.every((name) => done.has(name)))
    if (step.length === 0) {
      throw new Error(`components wait for each other: ${left.map((spec) => spec.name).join(', ')}`)
    }
    steps.push(step)
    for (const spec of step) done.add(spec.name)
    left = left.filter((spec) => !step.includes(spec))
  }
  return steps
}
