/** Settings: the flags, checked once at the door and turned into what the parts need. */
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { Dialect } from '../api/dialect.ts'
import { dialectNamed, dialects } from '../api/dialect.ts'
import type { FeatureGates } from '../api/feature-gates.ts'
import { parseFeatureGates } from '../api/feature-gates.ts'
import { servedRelease } from '../api/lifecycle.ts'
import { StartError } from '../component-base/component.ts'
import type { FlagValues } from '../component-base/flags.ts'
import { showHiddenFault } from '../component-base/metrics.ts'
import type { EvictionThreshold } from './node/eviction-thresholds.ts'
import { parseEvictionThresholds } from './node/eviction-thresholds.ts'
import type { NodeResourceOptions } from './node/node-resources.ts'
import type { nodeAgentFlags } from './options.ts'
import type { Registration } from './node/register.ts'
import { parseTaint } from './node/register.ts'
import { parseUnsafeSysctls } from './pods/sysctl-allowlist.ts'

export type NodeAgentFlags = FlagValues<typeof nodeAgentFlags>

/** Where one node keeps its files. */
export interface NodeFolders {
  readonly nodeName: string
  readonly rootDir: string
  readonly certDir: string
  readonly kubeconfig: string
}

export interface Settings {
  readonly dialect: Dialect
  readonly gates: FeatureGates
  readonly warnings: readonly string[]
  readonly showsHiddenMetrics: boolean
  /** At least one. */
  readonly nodes: readonly NodeFolders[]
  readonly isCrowd: boolean
  readonly nodeIp: string
  readonly resources: NodeResourceOptions & { readonly evictionHard: readonly EvictionThreshold[] }
  readonly allowedUnsafeSysctls: readonly string[]
  readonly registration: Omit<Registration, 'nodeName'>
}

/** RFC 1123 subdomain: what a Node may be called. */
const nodeNamePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

function foldersOf(flags: NodeAgentFlags): NodeFolders[] {
  const name = (flags['node-name'] ?? flags['hostname-override'] ?? hostname()).trim().toLowerCase()
  if (name.length > 253 || !nodeNamePattern.test(name)) {
    throw new StartError(
      `"${name}" cannot be a node's name: want lower case letters, digits, - and .`,
    )
  }
  const rootDir = flags['root-dir']
  const certDir = flags['cert-dir'] ?? join(rootDir, 'pki')
  if (flags.nodes <= 0) {
    const kubeconfig = flags.kubeconfig ?? join(rootDir, 'kubeconfig')
    return [{ nodeName: name, rootDir, certDir, kubeconfig }]
  }
  return Array.from({ length: flags.nodes }, (_, index) => {
    const nodeName = `${name}-${index}`
    const own = join(rootDir, 'nodes', nodeName)
    return {
      nodeName,
      rootDir: own,
      certDir: join(certDir, nodeName),
      kubeconfig: join(own, 'kubeconfig'),
    }
  })
}

function nodeIpOf(flags: NodeAgentFlags): string {
  const { address } = flags
  if (flags['node-ip'] !== undefined) return flags['node-ip']
  if (address !== '0.0.0.0' && address !== '::') return address
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  return outside?.address ?? '127.0.0.1'
}

/** Reads a part of the flags; a fault in it ends the start with its message. */
function checked<T>(flagName: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`--${flagName}: ${(error as Error).message}`, error)
  }
}

/** Throws a StartError that names the flag. */
export function settingsOf(flags: NodeAgentFlags): Settings {
  const { gates, warnings } = checked('feature-gates', () =>
    parseFeatureGates(flags['feature-gates']),
  )
  const showHidden = flags['show-hidden-metrics-for-version']
  const hiddenFault = showHiddenFault(showHidden, servedRelease)
  if (hiddenFault !== undefined) throw new StartError(hiddenFault)
  for (const pin of flags['discovery-token-ca-cert-hash']) {
    if (/^sha256:[0-9a-fA-F]{64}$/.test(pin)) continue
    throw new StartError(`--discovery-token-ca-cert-hash: "${pin}" is not sha256:<64 hex digits>`)
  }
  return {
    dialect: dialectNamed(flags.dialect) ?? dialects.kubernetes,
    gates,
    warnings,
    showsHiddenMetrics: showHidden !== '',
    nodes: foldersOf(flags),
    isCrowd: flags.nodes > 0,
    nodeIp: nodeIpOf(flags),
    resources: {
      maxPods: flags['max-pods'],
      capacity: flags.capacity,
      systemReserved: flags['system-reserved'],
      kubeReserved: flags['kube-reserved'],
      evictionHard: checked('eviction-hard', () => parseEvictionThresholds(flags['eviction-hard'])),
    },
    allowedUnsafeSysctls: checked('allowed-unsafe-sysctls', () =>
      parseUnsafeSysctls(flags['allowed-unsafe-sysctls']),
    ),
    registration: {
      labels: flags['node-labels'],
      taints: checked('register-with-taints', () => flags['register-with-taints'].map(parseTaint)),
      isUnschedulable: !flags['register-schedulable'],
      providerId: flags['provider-id'],
    },
  }
}
