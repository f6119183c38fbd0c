/** known-members: the members of a cluster's own etcd, those of other machines too, as this machine has learned of them. */
import { existsSync, readFileSync } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { EtcdMembers } from '../../components/store/etcd/etcd-members.ts'
import { ClusterError } from '../cluster-error.ts'
import { urlHost } from '../plan/cluster-config.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { etcdClientFiles, etcdServersPath, etcdServersText } from '../plan/etcd-config.ts'
import { writePrivateFile } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { explained } from '../system-error.ts'

export interface EtcdPlace {
  readonly config: Pick<ClusterConfig, 'name' | 'etcd' | 'address'>
  readonly paths: StatePaths
  readonly clock: Clock
}

/** Client URLs of all members that have a vote. */
export function knownServers({ config, paths }: Pick<EtcdPlace, 'config' | 'paths'>): string[] {
  const path = etcdServersPath(paths)
  if (!existsSync(path)) return [...(config.etcd?.servers ?? [])]
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** Client URLs of the members on this machine. */
export function ownServers({ etcd, address }: Pick<ClusterConfig, 'etcd' | 'address'>): string[] {
  const members = etcd?.own?.members ?? []
  return members.map(({ clientPort }) => `https://${urlHost(address)}:${clientPort}`)
}

/** Writes the file of a cluster that has none yet. */
export function ensureKnownServers({ config, paths }: Pick<EtcdPlace, 'config' | 'paths'>): void {
  const path = etcdServersPath(paths)
  if (config.etcd?.own === undefined || existsSync(path)) return
  writePrivateFile(path, etcdServersText(config.etcd.servers))
}

/** Calls to the cluster's own etcd; the caller closes them. Rejects with a ClusterError for a file that cannot be read. */
export async function openMembers(
  place: EtcdPlace,
  {
    endpoints = knownServers(place),
    requestTimeoutMs,
  }: { readonly endpoints?: readonly string[]; readonly requestTimeoutMs: number },
): Promise<EtcdMembers> {
  const { config, paths, clock } = place
  const { EtcdMembers } = await import('../../components/store/etcd/etcd-members.ts')
  const tls = await tlsOf(config, paths)
  return new EtcdMembers({ endpoints, tls, clock, requestTimeoutMs })
}

export async function tlsOf(
  { etcd = { servers: [] } }: EtcdPlace['config'],
  paths: StatePaths,
): Promise<{ ca?: string; cert?: string; key?: string }> {
  const { caFile, certFile, keyFile } = etcdClientFiles(etcd, paths)
  const textOf = async (path: string | undefined): Promise<string | undefined> =>
    path === undefined ? undefined : await explained(path, () => readFileSync(path, 'utf8'))
  const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(textOf))
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** What etcd says against a change of its members. */
export function membersError(message: string, error: unknown, hint: string): ClusterError {
  return new ClusterError('failed', `${message}: ${messageOf(error)}`, { hint, cause: error })
}
