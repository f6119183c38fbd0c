/** The API servers of a cluster: one at its own address and port, or several behind the load balancer. */
import { join } from 'node:path'
import { dialectOf, hasBalancer } from './cluster-config.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { argsOf } from './component-spec.ts'
import type { ComponentSpec, Flags } from './component-spec.ts'
import { etcdClientFiles, etcdMemberNames, etcdServersPath } from './etcd-config.ts'
import type { StatePaths } from '../state/state-dir.ts'

/**
 * Node's own SQLite still announces itself as experimental in every log. Measured: a third less memory under a load of writes,
 * at the same speed; and what a start or a load leaves can be collected (docs/performance.md).
 */
export const apiServerNodeOptions: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=16',
  '--expose-gc',
]

/** Longer than the load balancer takes to notice that a server is not ready any more (plan-load-balancer.ts). */
const shutdownDelay = '2s'

interface ApiServerPlace {
  /** Of the component. */
  readonly name: string
  readonly address: string
  readonly port: number
}

function placesOf(config: ClusterConfig): ApiServerPlace[] {
  const { address, port, apiServers = [] } = config
  if (!hasBalancer(config)) return [{ name: 'api-server', address, port }]
  if (apiServers.length === 1) return apiServers.map((place) => ({ name: 'api-server', ...place }))
  return apiServers.map((place, index) => ({ name: `api-server-${index + 1}`, ...place }))
}

/** The flags that name the store: the file of one API server, or the etcd of all of them. */
function storeFlags({ etcd }: ClusterConfig, paths: StatePaths): Flags {
  if (etcd === undefined) return { store: `sqlite:${paths.store}` }
  const { caFile, certFile, keyFile } = etcdClientFiles(etcd, paths)
  return {
    'etcd-servers': etcd.servers.join(),
    ...(etcd.own === undefined ? {} : { 'etcd-servers-file': etcdServersPath(paths) }),
    ...(caFile === undefined ? {} : { 'etcd-cafile': caFile }),
    ...(certFile === undefined ? {} : { 'etcd-certfile': certFile }),
    ...(keyFile === undefined ? {} : { 'etcd-keyfile': keyFile }),
  }
}

function planApiServer(
  { name, address, port }: ApiServerPlace,
  config: ClusterConfig,
  paths: StatePaths,
): ComponentSpec {
  const pki = (file: string): string => join(paths.pki, file)
  const flags: Flags = {
    dialect: config.dialect,
    'bind-address': address,
    'secure-port': String(port),
    'advertise-address': address,
    ...storeFlags(config, paths),
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
    ...(hasBalancer(config) ? { 'shutdown-delay-duration': shutdownDelay } : {}),
  }
  return {
    name,
    program: 'api-server',
    ...(address === config.address ? {} : { address }),
    nodeOptions: apiServerNodeOptions,
    args: argsOf('api-server', flags, config),
    files: [],
    folders: [],
    certificates: [
      'apiserver',
      'apiserver-kubelet-client',
      'front-proxy-client',
      ...(config.etcd?.own === undefined ? [] : (['apiserver-etcd-client'] as const)),
    ],
    dependsOn: etcdMemberNames(config.etcd),
  }
}

export function planApiServers(config: ClusterConfig, paths: StatePaths): ComponentSpec[] {
  return placesOf(config).map((place) => planApiServer(place, config, paths))
}
