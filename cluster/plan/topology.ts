/** Topology: how many API servers, etcd members, controller managers and schedulers a new cluster has, and where they listen. */
import { isAbsolute, resolve } from 'node:path'
import { ClusterError } from '../cluster-error.ts'
import { urlHost } from './cluster-config.ts'
import type { ClusterConfig } from './cluster-config.ts'
import type { EtcdClientFiles, EtcdConfig, EtcdMember } from './etcd-config.ts'
import { findEtcd } from './find-etcd.ts'
import { defaultAddress, freePorts, portOrFree, wishedPorts } from './ports.ts'

export interface TopologySettings {
  /** Default: sqlite, or etcd with `etcdServers`. */
  readonly store?: 'sqlite' | 'etcd' | undefined
  /** Default: one with one API server, three with several. */
  readonly etcdMembers?: number | undefined
  /** Default: the etcd in PATH. */
  readonly etcdBinary?: string | undefined
  /** URLs of an existing etcd. */
  readonly etcdServers?: readonly string[] | undefined
  readonly etcdFiles?: EtcdClientFiles | undefined
  /** Default 1. */
  readonly apiServers?: number | undefined
  readonly controllerManagers?: number | undefined
  readonly schedulers?: number | undefined
}

type Topology = Pick<ClusterConfig, 'etcd' | 'apiServers' | 'controllerManagers' | 'schedulers'>

const mostServers = 9
const mostMembers = 7

function usage(message: string, hint: string): ClusterError {
  return new ClusterError('usage', message, { hint })
}

function checkCounts(settings: TopologySettings): void {
  const counts = [
    ['--api-servers', settings.apiServers],
    ['--controller-managers', settings.controllerManagers],
    ['--schedulers', settings.schedulers],
  ] as const
  for (const [flag, count = 1] of counts) {
    if (Number.isInteger(count) && count >= 1 && count <= mostServers) continue
    throw usage(
      `invalid ${flag} ${count}: must be from 1 to ${mostServers}`,
      `omit ${flag} for one`,
    )
  }
  const { etcdMembers: members = 1 } = settings
  if (!Number.isInteger(members) || members < 1 || members > mostMembers || members % 2 === 0) {
    throw usage(
      `invalid --etcd-members ${members}: must be 1, 3, 5 or 7`,
      'an even number tolerates no more failures than the odd number below it',
    )
  }
}

function isUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/'
}

function checkEtcdServers({ etcdServers = [], etcdFiles = {} }: TopologySettings): void {
  const wrong = etcdServers.find((server) => !isUrl(server))
  if (wrong !== undefined) {
    throw usage(
      `invalid --etcd-servers: "${wrong}" is not the URL of an etcd member`,
      'use URLs such as https://192.0.2.1:2379',
    )
  }
  const { caFile, certFile, keyFile } = etcdFiles
  if (etcdServers.length === 0 && (caFile ?? certFile ?? keyFile) !== undefined) {
    throw usage(
      '--etcd-cafile, --etcd-certfile and --etcd-keyfile need --etcd-servers',
      'omit them: an etcd that the cluster starts gets certificates of its own',
    )
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw usage('--etcd-certfile and --etcd-keyfile go together', 'pass both, or none')
  }
}

/** Throws a ClusterError of kind `usage` for settings that contradict each other. */
export function checkTopology(settings: TopologySettings): void {
  const { store, etcdServers = [], etcdMembers, etcdBinary, apiServers = 1 } = settings
  checkCounts(settings)
  checkEtcdServers(settings)
  const isOwn = etcdMembers !== undefined || etcdBinary !== undefined
  if (isOwn && etcdServers.length > 0) {
    throw usage(
      '--etcd-servers cannot be combined with --etcd-members or --etcd-binary',
      'pass --etcd-servers for an existing etcd, or --store etcd for one that the cluster starts',
    )
  }
  if (isOwn && store !== 'etcd') {
    throw usage('--etcd-members and --etcd-binary need --store etcd', 'add --store etcd')
  }
  if (store === 'sqlite' && etcdServers.length > 0) {
    throw usage('--store sqlite and --etcd-servers cannot be combined', 'omit --store')
  }
  if (apiServers > 1 && store !== 'etcd' && etcdServers.length === 0) {
    throw usage(
      `--api-servers ${apiServers} needs a store that they can share`,
      'add --store etcd, or --etcd-servers URL,URL for an existing etcd',
    )
  }
}

async function ownEtcd(
  settings: TopologySettings,
  { address, port, environment }: Where,
): Promise<EtcdConfig> {
  const count = settings.etcdMembers ?? ((settings.apiServers ?? 1) > 1 ? 3 : 1)
  const [binary, clientPorts, metricsPorts] = await Promise.all([
    findEtcd(settings.etcdBinary, environment),
    freePorts(address, wishedPorts({ address, port }, { etcdMembers: count })),
    freePorts('127.0.0.1', Array<number>(count).fill(0)),
  ])
  const members = metricsPorts.map((metricsPort, index): EtcdMember => ({
    name: `etcd-${index + 1}`,
    clientPort: clientPorts[2 * index] ?? 0,
    peerPort: clientPorts[2 * index + 1] ?? 0,
    metricsPort,
  }))
  const servers = members.map(({ clientPort }) => `https://${urlHost(address)}:${clientPort}`)
  return { servers, own: { binary, members } }
}

function etcdOfOthers({
  etcdServers = [],
  etcdFiles = {},
}: TopologySettings): EtcdConfig | undefined {
  if (etcdServers.length === 0) return undefined
  const absolute = (path: string | undefined): string | undefined =>
    path === undefined || isAbsolute(path) ? path : resolve(path)
  const { caFile, certFile, keyFile } = etcdFiles
  const files = {
    caFile: absolute(caFile),
    certFile: absolute(certFile),
    keyFile: absolute(keyFile),
  }
  return { servers: etcdServers.map((server) => server.replace(/\/$/, '')), files }
}

interface Where {
  /** Of the cluster. */
  readonly address: string
  /** Of the load balancer. */
  readonly port: number
  readonly environment: Readonly<Record<string, string | undefined>>
}

/**
 * Addresses of API servers behind a balancer. On Linux every loopback address works, so each gets its own and all the same port,
 * as on machines of their own; elsewhere each gets a port of its own.
 */
async function apiServerPlaces(
  count: number,
  { address, port }: Where,
): Promise<NonNullable<ClusterConfig['apiServers']>> {
  if (process.platform !== 'linux' || address !== defaultAddress) {
    const ports = await freePorts(address, wishedPorts({ address, port }, { apiServers: count }))
    return ports.map((free) => ({ address, port: free }))
  }
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const own = `127.0.0.${index + 2}`
      return { address: own, port: await portOrFree(own, port) }
    }),
  )
}

/** The checked settings as a new cluster keeps them, with free ports. Rejects with a ClusterError without a usable etcd. */
export async function topologyOf(settings: TopologySettings, where: Where): Promise<Topology> {
  const { store, etcdServers = [], apiServers = 1, controllerManagers, schedulers } = settings
  const isOwn = etcdServers.length === 0 && store === 'etcd'
  const etcd = isOwn ? await ownEtcd(settings, where) : etcdOfOthers(settings)
  const isShared = etcd !== undefined && where.address !== defaultAddress
  const hasSeveral = apiServers > 1 || isShared
  return {
    ...(etcd === undefined ? {} : { etcd }),
    ...(hasSeveral ? { apiServers: await apiServerPlaces(apiServers, where) } : {}),
    ...(controllerManagers === undefined ? {} : { controllerManagers }),
    ...(schedulers === undefined ? {} : { schedulers }),
  }
}
