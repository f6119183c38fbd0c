/** leave-etcd: removes members of machines that leave the control plane, or are gone, as long as the others keep a quorum. */
import type { EtcdMemberEntry, EtcdMembers } from '../../components/store/etcd/etcd-members.ts'
import { ClusterError } from '../cluster-error.ts'
import { urlHost } from '../plan/cluster-config.ts'
import { knownServers, membersError, openMembers, ownServers } from './known-members.ts'
import type { EtcdPlace } from './known-members.ts'

/** etcd rejects changes until a member that joined or left has been connected to for 5 s. */
const changeTimeoutMs = 10_000

async function removeFrom(
  members: EtcdMembers,
  { address, etcd }: EtcdPlace['config'],
): Promise<void> {
  const host = urlHost(address)
  const urls = new Set(etcd?.own?.members.map(({ peerPort }) => `https://${host}:${peerPort}`))
  const isOwn = ({ peerUrls }: EtcdMemberEntry): boolean => peerUrls.some((url) => urls.has(url))
  const all = await members.list()
  // The last ones end with their data.
  if (!all.some((one) => !isOwn(one) && !one.isLearner)) return
  for (const one of all.filter(isOwn)) await members.remove(one)
}

/**
 * Removes this machine's members, if others have a vote; while they still run, since two members can only remove one of them
 * together. Rejects with a ClusterError when the others would have no quorum.
 */
export async function leaveEtcd(
  place: EtcdPlace,
  requestTimeoutMs = changeTimeoutMs,
): Promise<void> {
  const { config } = place
  const { own } = config.etcd ?? {}
  if (own === undefined) return
  const ownUrls = ownServers(config)
  const others = knownServers(place).filter((url) => !ownUrls.includes(url))
  if (others.length === 0) return
  // A member that is removed ends, and may not answer any more.
  const endpoints = [...others, ...ownUrls]
  const members = await openMembers(place, { endpoints, requestTimeoutMs })
  try {
    await removeFrom(members, config)
  } catch (error) {
    const names = own.members.map(({ name }) => name).join(', ')
    throw membersError(
      `${names} cannot leave etcd`,
      error,
      'the others would have no quorum: start them, or remove those that are gone with skiff member remove; --force leaves the member behind',
    )
  } finally {
    members.close()
  }
}

/** Removes the member of that name, or at that peer URL, of a machine that is gone. Rejects with a ClusterError. */
export async function removeMember(place: EtcdPlace, name: string): Promise<void> {
  const { config } = place
  if (config.etcd?.own === undefined) {
    throw new ClusterError(
      'usage',
      `cluster "${config.name}" does not manage the members of its store`,
      {
        hint: 'only those of --store etcd are its own; for others use: etcdctl member remove',
      },
    )
  }
  if (config.etcd.own.members.some((one) => one.name === name)) {
    throw new ClusterError('usage', `${name} is a member of this machine`, {
      hint: 'it leaves etcd with its machine: skiff down',
    })
  }
  const members = await openMembers(place, { requestTimeoutMs: changeTimeoutMs })
  try {
    const all = await members.list()
    const found = all.find((one) => one.name === name || one.peerUrls.includes(name))
    if (found === undefined) {
      const known = all.map((one) => one.name || (one.peerUrls[0] ?? '')).join(', ')
      throw new ClusterError('not-found', `etcd has no member "${name}"`, {
        hint: `members: ${known}`,
      })
    }
    await members.remove(found)
  } catch (error) {
    if (error instanceof ClusterError) throw error
    throw membersError(
      `${name} cannot be removed`,
      error,
      'a majority of the members has to be alive, without it too: see skiff status',
    )
  } finally {
    members.close()
  }
}
