/** Plan: from a cluster's configuration to the processes it needs. Pure: it decides flags, files and order; it does nothing. */
import { join } from 'node:path'
import { frontOf, serverNameOf, serverUrl } from './cluster-config.ts'
import type { ClusterConfig, NodeConfig } from './cluster-config.ts'
import { argsOf } from './component-spec.ts'
import type { ComponentSpec, Flags } from './component-spec.ts'
import { planApiServers } from './plan-api-servers.ts'
import { planConsole } from './plan-console.ts'
import { planEtcd } from './plan-etcd.ts'
import { planLoadBalancer } from './plan-load-balancer.ts'
import { planStageRunner } from './plan-stage-runner.ts'
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

/** Pod addresses of the cluster: room for 16,384 nodes of 256 addresses, beside those that agents take until they have a range. */
const podRange = '10.192.0.0/10'

/**
 * The nursery of a process that follows thousands of objects: what it reads lives until the next event, and a small nursery
 * hands it to the slow collector. Measured with 500 nodes: a third of the processor time of their agents (docs/performance.md).
 */
const largeNursery = '--max-semi-space-size=16'
/** From so many simulated nodes on, the controllers and the scheduler have one too; below, memory counts more. */
const largeCluster = 100

function isLarge({ nodes }: ClusterConfig): boolean {
  return nodes.reduce((sum, { simulated = 1 }) => sum + simulated, 0) >= largeCluster
}

/** Addresses of the simulated load balancer: reserved for benchmarks and for documentation (RFC 2544, RFC 3849). */
const balancerRanges = '198.18.0.0/16,2001:db8::/112'

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
    nodeOptions: [isLarge(config) ? largeNursery : '--max-semi-space-size=2'],
    args: argsOf('controller-manager', flags, config),
    files: [{ kind: 'kubeconfig', path: kubeconfig, credential: 'controller-manager' }],
    folders: [],
    certificates: ['controller-manager', 'controller-manager-serving'],
    dependsOn: [frontOf(config)],
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
    nodeOptions: [isLarge(config) ? largeNursery : '--max-semi-space-size=2'],
    args: argsOf('scheduler', flags, config),
    files: [{ kind: 'kubeconfig', path: kubeconfig, credential: 'scheduler' }],
    folders: [],
    certificates: ['scheduler', 'scheduler-serving'],
    dependsOn: [frontOf(config)],
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
  const serverName = serverNameOf(config)
  const flags: Flags = {
    config: tokenFile,
    dialect: config.dialect,
    server: serverUrl(config),
    ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
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
    // Young objects die young in the agent of one node: a small nursery halves its memory and costs nothing at its load.
    nodeOptions: [node.simulated === undefined ? '--max-semi-space-size=1' : largeNursery],
    args: argsOf('node-agent', flags, config, node.flags),
    files: [{ kind: 'bootstrap-token', path: tokenFile }],
    folders: [rootDir, certDir],
    certificates: [],
    dependsOn: [frontOf(config)],
  }
}

/** The component that many times; leader election chooses the one that acts. */
function several(spec: ComponentSpec, count = 1): ComponentSpec[] {
  if (count === 1) return [spec]
  return Array.from({ length: count }, (_, index) => ({
    ...spec,
    name: `${spec.name}-${index + 1}`,
  }))
}

/** All processes of the cluster, each after those it depends on. */
export function planCluster(config: ClusterConfig, paths: StatePaths): ComponentSpec[] {
  return [
    ...planEtcd(config, paths),
    ...planApiServers(config, paths),
    ...planLoadBalancer(config, paths),
    ...several(planControllerManager(config, paths), config.controllerManagers),
    ...several(planScheduler(config, paths), config.schedulers),
    ...planStageRunner(config, paths),
    ...config.nodes.map((node) => planNode(node, config, paths)),
    ...planConsole(config, paths),
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
