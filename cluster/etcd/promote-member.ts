/** promote-member: gives the member of a machine that joined a vote, once it has caught up with the others. */
import type { EtcdMemberEntry, EtcdMembers } from '../../components/store/etcd/etcd-members.ts'
import { ClusterError } from '../cluster-error.ts'
import { urlHost } from '../plan/cluster-config.ts'
import { knownServers, membersError, openMembers, ownServers } from './known-members.ts'
import type { EtcdPlace } from './known-members.ts'

const tryEveryMs = 200
const mostMs = 60_000

/** Undefined: it has a vote. */
async function learnerAt(
  members: EtcdMembers,
  { name, peerUrl }: { readonly name: string; readonly peerUrl: string },
): Promise<EtcdMemberEntry | undefined> {
  const own = (await members.list()).find(({ peerUrls }) => peerUrls.includes(peerUrl))
  if (own?.isLearner === false) return undefined
  if (own !== undefined) return own
  throw new ClusterError('failed', `etcd has no member ${name} any more: it was removed`, {
    hint: 'end it with skiff down --force, and let it join again',
  })
}

/** Resolves when the member has a vote, at once when it is known to have one. Rejects with a ClusterError after a minute. */
export async function promoteOwnMember(place: EtcdPlace, signal: AbortSignal): Promise<void> {
  const { config, clock } = place
  const { own } = config.etcd ?? {}
  const [member] = own?.members ?? []
  if (own?.joined === undefined || member === undefined) return
  const known = knownServers(place)
  // Voters alone are known.
  if (ownServers(config).every((url) => known.includes(url))) return
  const { name, peerPort } = member
  const peerUrl = `https://${urlHost(config.address)}:${peerPort}`
  const members = await openMembers(place, { requestTimeoutMs: mostMs })
  const endMs = clock.elapsed() + mostMs
  try {
    const learner = await learnerAt(members, { name, peerUrl })
    while (learner !== undefined && !(await members.promote(learner))) {
      if (clock.elapsed() > endMs) {
        throw new ClusterError('timeout', `${name} has not caught up with etcd after 60 s`, {
          hint: 'check the connection to the other members, and the clock of this machine; see its log: skiff logs',
        })
      }
      await clock.sleep(tryEveryMs, signal)
    }
  } catch (error) {
    if (error instanceof ClusterError || signal.aborted) throw error
    throw membersError(
      `${name} cannot get a vote in etcd`,
      error,
      'check that most members are alive',
    )
  } finally {
    members.close()
  }
}
