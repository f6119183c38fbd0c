/** Contradictions: pairs of faults of which one would undo, hide or double the other. Pure. */
import type { RequestAction, RequestMatch } from '../../components/component-base/request-fault.ts'
import { compareTexts } from '../../components/component-base/sorted-map.ts'
import type { FaultSpec, NetworkFault } from './fault-spec.ts'

type Of<K extends FaultSpec['kind']> = Extract<FaultSpec, { kind: K }>

/** Whether one of several requests is meant, so that another rule has its turn. */
function isPartial({ times, chance }: FaultSpec): boolean {
  return times !== undefined || chance !== undefined
}

/** The same text for the same requests, in whatever order they are named. */
function textOf(match: RequestMatch): string {
  const lists = Object.entries(match).map(([name, values]: [string, readonly string[]]) => [
    name,
    values.toSorted(compareTexts),
  ])
  return JSON.stringify(
    lists.toSorted(([one], [other]) => compareTexts(String(one), String(other))),
  )
}

/** What an action decides; of two actions that decide the same, only one can happen. */
function decidedBy({ status, cut, watch, ...others }: RequestAction): string {
  if (status !== undefined || cut === 'before') return 'whether it is handled'
  if (watch !== undefined) return `watch ${Object.keys(watch).join()}`
  return cut === undefined ? Object.keys(others).join() : 'cut'
}

function ofRequests(one: Of<'requests'>, other: Of<'requests'>): string | undefined {
  if (isPartial(one) || isPartial(other)) return undefined
  if (decidedBy(one.fault.action) !== decidedBy(other.fault.action)) return undefined
  return textOf(one.fault.match) === textOf(other.fault.match)
    ? 'they match the same requests'
    : undefined
}

function ofStore(one: Of<'store'>, other: Of<'store'>): string | undefined {
  if (isPartial(one) || isPartial(other)) return undefined
  const isDelay = [one, other].map(({ fault }) => 'delayMs' in fault)
  return isDelay[0] === isDelay[1] ? 'each decides what becomes of the same writes' : undefined
}

/** Pairs of parts in whose direction the fault works. */
function directions({ from, to, direction = 'both' }: NetworkFault): string[] {
  return direction === 'one-way' ? [`${from} -> ${to}`] : [`${from} -> ${to}`, `${to} -> ${from}`]
}

function actionName({ action }: NetworkFault): string {
  return typeof action === 'string' ? action : (Object.keys(action)[0] ?? '')
}

function ofNetwork(one: Of<'network'>, other: Of<'network'>): string | undefined {
  const shared = directions(one.fault).find((way) => directions(other.fault).includes(way))
  if (shared === undefined) return undefined
  const [first, second] = [actionName(one.fault), actionName(other.fault)]
  const stops = ['cut', 'half-open']
  const isStopped = stops.includes(first) || stops.includes(second)
  return first === second || isStopped ? `both act on ${shared}` : undefined
}

/** Why both cannot hold; undefined when they can. Symmetric. */
export function contradictionOf(one: FaultSpec, other: FaultSpec): string | undefined {
  if (one.kind === 'requests' && other.kind === 'requests') return ofRequests(one, other)
  if (one.kind === 'store' && other.kind === 'store') return ofStore(one, other)
  if (one.kind === 'network' && other.kind === 'network') return ofNetwork(one, other)
  if (one.kind === 'process' && other.kind === 'process') {
    const isLease = [one, other].map(({ fault }) => fault.action === 'lose-lease')
    const isSame = one.fault.part === other.fault.part && isLease[0] === isLease[1]
    return isSame ? `both act on the process of ${one.fault.part}` : undefined
  }
  if (one.kind === 'clock' && other.kind === 'clock')
    return one.fault.part === other.fault.part ? `both set ${one.fault.part}'s clock` : undefined
  if (one.kind === 'certificate' && other.kind === 'certificate')
    return one.fault.part === other.fault.part
      ? `both replace ${one.fault.part}'s certificate`
      : undefined
  if (one.kind === 'node' && other.kind === 'node') {
    const isSame = one.fault.node === other.fault.node && one.fault.is === other.fault.is
    return isSame ? `${one.fault.node} has it already` : undefined
  }
  return undefined
}
