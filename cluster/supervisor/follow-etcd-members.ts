/**
 * follow-etcd-members: tells the API servers which members the cluster's own etcd has, those of machines that join and leave too.
 * etcd announces no changes of its members, so they are asked for.
 */
import { writeFileAtomically } from '../../certs/pki-files.ts'
import type { Log } from '../../components/component-base/log.ts'
import type { EtcdMembers } from '../../components/store/etcd/etcd-members.ts'
import { knownServers, openMembers, ownServers } from '../etcd/known-members.ts'
import type { EtcdPlace } from '../etcd/known-members.ts'
import { etcdServersPath, etcdServersText } from '../plan/etcd-config.ts'

const askEveryMs = 2000

type FollowOptions = EtcdPlace & { readonly log: Log; readonly ownsFolder: () => boolean }

/** Asks once. Resolves with what is stored then. */
async function learn(
  place: FollowOptions,
  members: EtcdMembers,
  stored: readonly string[],
): Promise<readonly string[]> {
  const { config, paths, log, ownsFolder } = place
  const voters = (await members.list()).filter(({ isLearner }) => !isLearner)
  const all = voters.flatMap(({ clientUrls }) => clientUrls).toSorted()
  const own = ownServers(config)
  // API servers take the first that answers, which is the nearest.
  const servers = [
    ...all.filter((url) => own.includes(url)),
    ...all.filter((url) => !own.includes(url)),
  ]
  if (servers.length === 0 || servers.join() === stored.join() || !ownsFolder()) return stored
  await writeFileAtomically(etcdServersPath(paths), etcdServersText(servers), 0o600)
  log.info('the members of etcd have changed', { servers })
  return servers
}

/** Asks the members that are known until there are others. Resolves with those, or when `signal` aborts. */
async function learnOthers(
  place: FollowOptions,
  stored: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { clock, log } = place
  const members = await openMembers(place, { endpoints: stored, requestTimeoutMs: askEveryMs })
  let hasFailed = false
  try {
    while (!signal.aborted) {
      try {
        const next = await learn(place, members, stored)
        if (next !== stored) return next
        hasFailed = false
      } catch (error) {
        if (!hasFailed) log.warn('the members of etcd cannot be listed', { error })
        hasFailed = true
      }
      await clock.sleep(askEveryMs, signal).catch(() => {})
    }
    return stored
  } finally {
    members.close()
  }
}

/** Until `signal` aborts. While no member answers, what is known stays. */
export async function followEtcdMembers(place: FollowOptions, signal: AbortSignal): Promise<void> {
  let stored: readonly string[] = knownServers(place)
  while (!signal.aborted) stored = await learnOthers(place, stored, signal)
}
