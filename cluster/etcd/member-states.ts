/** member-states: the members of a cluster's own etcd, on all machines, and which of them answer. */
import type { EtcdMemberEntry } from '../../components/store/etcd/etcd-members.ts'
import { openMembers, tlsOf } from './known-members.ts'
import type { EtcdPlace } from './known-members.ts'

export interface MemberState {
  readonly name: string
  /** Its client URL; that of its peers while it has not started. */
  readonly url: string
  readonly state: 'voter' | 'learner' | 'no answer'
}

const answerWithinMs = 2000

/** In the order of their names. Undefined: the cluster runs no etcd, or no member answers. */
export async function memberStates(place: EtcdPlace): Promise<MemberState[] | undefined> {
  const { config, paths, clock } = place
  if (config.etcd?.own === undefined) return undefined
  const { answers } = await import('../../components/store/etcd/etcd-members.ts')
  const tls = await tlsOf(config, paths)
  const members = await openMembers(place, { requestTimeoutMs: answerWithinMs })
  const stateOf = async (member: EtcdMemberEntry): Promise<MemberState> => {
    const { name, clientUrls: endpoints, peerUrls, isLearner } = member
    const url = endpoints[0] ?? peerUrls[0] ?? ''
    const isThere = await answers({ endpoints, tls, clock, requestTimeoutMs: answerWithinMs })
    const state = !isThere ? 'no answer' : isLearner ? 'learner' : 'voter'
    return { name: name || url, url, state }
  }
  try {
    const states = await Promise.all((await members.list()).map(stateOf))
    return states.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  } catch {
    return undefined // the table of components says what is down
  } finally {
    members.close()
  }
}
