/** The load balancer in front of several API servers: it has the cluster's address and port. */
import { join } from 'node:path'
import { hasBalancer, serverNameOf, urlHost } from './cluster-config.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { argsOf } from './component-spec.ts'
import type { ComponentSpec } from './component-spec.ts'
import { planApiServers } from './plan-api-servers.ts'
import type { StatePaths } from '../state/state-dir.ts'

/** A failed server gets no new connections after two checks: sooner than one that is asked to stop does (plan-api-servers.ts). */
const checkInterval = '500ms'

/** The file that names the API servers to the load balancer. */
export function backendsPath({ dir }: StatePaths): string {
  return join(dir, 'api-servers.txt')
}

/** The text of the backends file: the API servers of this machine, and those of others. */
export function backendsText({ apiServers = [], peers = [] }: ClusterConfig): string {
  const own = apiServers.map(({ address, port }) => `${urlHost(address)}:${port}`)
  return [...own, ...peers].map((backend) => `${backend}\n`).join('')
}

export function planLoadBalancer(config: ClusterConfig, paths: StatePaths): ComponentSpec[] {
  if (!hasBalancer(config)) return []
  const backends = backendsPath(paths)
  const flags = {
    'bind-address': config.address,
    port: String(config.port),
    'backends-file': backends,
    'certificate-authority': join(paths.pki, 'ca.crt'),
    // What clients verify, also when they get a server of another machine.
    'tls-server-name': serverNameOf(config) ?? config.address,
    'check-interval': checkInterval,
    // Clients that are still there when the cluster stops have lost it anyway.
    'drain-timeout': '500ms',
  }
  return [
    {
      name: 'load-balancer',
      program: 'load-balancer',
      nodeOptions: ['--max-semi-space-size=1'],
      args: argsOf('load-balancer', flags, config),
      files: [{ kind: 'text', path: backends, text: backendsText(config) }],
      folders: [],
      certificates: [],
      dependsOn: planApiServers(config, paths).map(({ name }) => name),
    },
  ]
}
