/** Contradictions: pairs of faults of which one would undo, hide or double the other. Pure. */
import { deepEqual } from '../../components/machinery/objects/object.ts'
import type { FaultSpec, NetworkFault } from './fault-spec.ts'

type Of<K extends FaultSpec['kind']> = Extract<FaultSpec, { kind: K }>

/** Whether one of several requests is meant, so that another rule has its turn. */
function isPartial({ times, chance }: FaultSpec): boolean {
  return times !== undefined || chance !== undefined
}

function ofRequests(one: Of<'requests'>, other: Of<'requests'>): string | undefined {
  if (isPartial(one) || isPartial(other)) return undefined
  if (!deepEqual(one.fault.match, other.fault.match)) return undefined
  const [first, second] = [one, other].map(({ fault }) => Object.keys(fault.action)[0] ?? '')
  const answers = ['status', 'cut']
  const bothAnswer = answers.includes(first ?? '') && answers.includes(second ?? '')
  return first === second || bothAnswer ? 'they match the same requests' : undefined
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
