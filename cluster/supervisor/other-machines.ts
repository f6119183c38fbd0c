/** other-machines: what a supervisor does for a control plane on several machines. */
import type { Log } from '../../components/component-base/log.ts'
import type { EtcdPlace } from '../etcd/known-members.ts'
import { hasBalancer } from '../plan/cluster-config.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'

interface MachineOptions extends EtcdPlace {
  readonly config: ClusterConfig
  readonly log: Log
  readonly ownsFolder: () => boolean
}

/** A cluster without a load balancer loads no client. */
async function followPeers(options: MachineOptions, signal: AbortSignal): Promise<void> {
  if (!hasBalancer(options.config)) return
  try {
    const { followApiServers } = await import('./follow-api-servers.ts')
    await followApiServers(options, signal)
  } catch (error) {
    if (!signal.aborted) options.log.error('the API servers are no longer followed', { error })
  }
}

/** A cluster without an etcd of its own loads no client of etcd. */
async function followMembers(options: MachineOptions, signal: AbortSignal): Promise<void> {
  if (options.config.etcd?.own === undefined) return
  const { followEtcdMembers } = await import('./follow-etcd-members.ts')
  await followEtcdMembers(options, signal)
}

/** Follows the API servers and the members of etcd of all machines until `signal` aborts. */
export async function followMachines(options: MachineOptions, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await Promise.all([followPeers(options, signal), followMembers(options, signal)])
}

/** Gives the member of a machine that has joined a control plane its vote. Rejects with a ClusterError. */
export async function joinEtcd(options: MachineOptions, signal: AbortSignal): Promise<void> {
  if (options.config.etcd?.own?.joined === undefined) return
  const { promoteOwnMember } = await import('../etcd/promote-member.ts')
  await promoteOwnMember(options, signal)
}
