/**
 * A node name has one agent: a Node whose machine (IDs, addresses, port of the agent) goes back to what it was before is written by two
 * agents in turn. An agent that moves to another machine changes it once.
 */
import type { Node } from '../../components/api/generated/types.ts'
import type { Change } from '../change.ts'
import { isOf, nameOf, uidOf, writtenAtMs } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

/** A machine that comes back after this long was away meanwhile. */
const windowMs = 10 * 60_000

interface Machine {
  readonly text: string
  readonly revision: number
  readonly leftAtMs: number
}

function machineOf({ status }: Node): string {
  const { machineID = '', systemUUID = '', bootID = '' } = status?.nodeInfo ?? {}
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? ''
  const addresses = (status?.addresses ?? []).map(({ type, address }) => `${type} ${address}`)
  if (machineID === '' && addresses.length === 0) return ''
  return [machineID, systemUUID, bootID, port, ...addresses.toSorted()].join(' ')
}

export function nodeName(): Required<Pick<Rule, 'take'>> {
  const before = new Map<string, Machine>()
  return {
    take: (change: Change): Finding[] => {
      if (!isOf(change, 'nodes')) return []
      const uid = uidOf(change.object)
      if (change.type === 'DELETED') before.delete(uid)
      if (change.type === 'DELETED' || change.old === undefined) return []
      const [was, is] = [machineOf(change.old as Node), machineOf(change.object as Node)]
      if (was === is || was === '') return []
      const earlier = before.get(uid)
      const atMs = writtenAtMs(change)
      before.set(uid, { text: was, revision: change.revision, leftAtMs: atMs })
      if (earlier?.text !== is || atMs - earlier.leftAtMs > windowMs) return []
      const text = `${nameOf(change)} is written by two agents in turn: at revision ${earlier.revision} it went to another machine (IDs, addresses or port), at revision ${change.revision} back`
      return [findingOf(change, text, [String(earlier.revision)])]
    },
  }
}
