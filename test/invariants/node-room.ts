/**
 * A pod is bound once, and never beyond its node's room: when the scheduler binds it, the requests of all pods on the node that
 * the scheduler bound and that have not ended are within the node's allocatable resources. Pods that were created with a node
 * are the agent's to reject.
 */
import type { Amounts } from '../../components/api/amounts.ts'
import { addAmounts, amountsOf, noAmounts } from '../../components/api/amounts.ts'
import type { Node, Pod } from '../../components/api/generated/types.ts'
import { podRequests } from '../../components/api/pod-amounts.ts'
import type { Change } from '../../monitors/change.ts'
import type { Invariant } from './invariant.ts'
import { isOf, nameOf, uidOf } from '../../monitors/change.ts'

/** A scheduler may not have seen a change of the node that is younger than this. */
const newsMs = 10_000

interface Room {
  readonly amounts: Amounts
  readonly pods: number
}

interface NodeState {
  room: Room
  /** What there was before the last change, and when that was. */
  before: Room
  changedAtMs: number
}

interface Placed {
  readonly node: string
  readonly requests: Amounts
  readonly isBound: boolean
}

function roomOf({ status }: Node): Room {
  const list = status?.allocatable ?? status?.capacity ?? {}
  return { amounts: amountsOf(list), pods: Number(list['pods'] ?? 0) }
}

const sameRoom = (a: Room, b: Room): boolean =>
  a.pods === b.pods &&
  exceeded(a.amounts, b.amounts).length === 0 &&
  exceeded(b.amounts, a.amounts).length === 0

/** `memory 2048 > 1024` for each resource of which there is less than asked. */
function exceeded(asked: Amounts, room: Amounts): string[] {
  const rows: [string, number, number][] = [
    ['cpu (thousandths)', asked.milliCpu, room.milliCpu],
    ['memory', asked.memory, room.memory],
    ['ephemeral-storage', asked.ephemeralStorage, room.ephemeralStorage],
    ...Array.from(asked.scalars, ([name, amount]): [string, number, number] => [
      name,
      amount,
      room.scalars.get(name) ?? 0,
    ]),
  ]
  return rows.filter(([, a, b]) => a > b).map(([name, a, b]) => `${name} ${a} > ${b}`)
}

export function nodeRoom(): Invariant {
  const nodes = new Map<string, NodeState>()
  const placed = new Map<string, Placed>()

  const takeNode = ({ type, object, atMs }: Change): void => {
    const name = object.metadata.name ?? ''
    const known = nodes.get(name)
    if (type === 'DELETED') {
      nodes.delete(name)
      return
    }
    const room = roomOf(object as Node)
    if (known === undefined) nodes.set(name, { room, before: room, changedAtMs: 0 })
    else if (!sameRoom(known.room, room))
      nodes.set(name, { room, before: known.room, changedAtMs: atMs })
  }
  const overfilled = (change: Change, nodeName: string): string[] => {
    const node = nodes.get(nodeName)
    if (node === undefined) return []
    const total = noAmounts()
    let count = 0
    for (const pod of placed.values()) {
      if (pod.node !== nodeName || !pod.isBound) continue
      addAmounts(total, pod.requests)
      count += 1
    }
    const faultsIn = (room: Room): string[] => [
      ...exceeded(total, room.amounts),
      ...(count > room.pods ? [`pods ${count} > ${room.pods}`] : []),
    ]
    const faults = faultsIn(node.room)
    const isNews = change.atMs - node.changedAtMs < newsMs
    if (faults.length === 0 || (isNews && faultsIn(node.before).length === 0)) return []
    return [
      `${nameOf(change)} was bound at revision ${change.revision} beyond the room of Node ${nodeName}: ${faults.join(', ')}`,
    ]
  }
  const takePod = (change: Change): string[] => {
    const pod = change.object as Pod
    const uid = uidOf(pod)
    const nodeName = pod.spec?.nodeName ?? ''
    const before = (change.old as Pod | undefined)?.spec?.nodeName ?? ''
    const known = placed.get(uid)
    const isOver = ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '')
    if (change.type === 'DELETED' || isOver) placed.delete(uid)
    if (before !== '' && before !== nodeName)
      return [
        `${nameOf(change)} moved from Node ${before} to "${nodeName}" at revision ${change.revision}`,
      ]
    if (change.type === 'DELETED' || isOver || nodeName === '' || known !== undefined) return []
    const isBinding = change.type === 'MODIFIED' && before === ''
    placed.set(uid, { node: nodeName, requests: podRequests(pod), isBound: isBinding })
    return isBinding && !change.isListed ? overfilled(change, nodeName) : []
  }
  return {
    name: 'a pod is bound once, within its node’s room',
    take: (change) => {
      if (isOf(change, 'nodes')) takeNode(change)
      return isOf(change, 'pods') ? takePod(change) : []
    },
  }
}
