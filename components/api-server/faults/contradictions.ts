/** contradictions: refuses faults of which one could never fire, because another always decides the same thing in another way. */
import type {
  ObeyedFaults,
  RequestAction,
  RequestFault,
  StoreFault,
} from '../../component-base/request-fault.ts'
import { compareTexts } from '../../component-base/sorted-map.ts'
import { InvalidFaultError } from './fault-reader.ts'

interface Decision {
  readonly id: string
  /** Which requests or writes, and what about them is decided. */
  readonly about: string
  /** How. */
  readonly how: string
  readonly isCertain: boolean
}

/** What an action decides; of two actions that decide the same, only one can happen. */
function decidedBy(action: RequestAction): string {
  if (action.status !== undefined || action.cut === 'before') return 'whether it is handled'
  if (action.watch !== undefined) return `watch ${Object.keys(action.watch).join()}`
  return Object.keys(action).join()
}

/** The same text for the same requests, in whatever order they are named. */
function textOf(match: RequestFault['match']): string {
  const lists = Object.entries(match).map(([name, values]) => {
    const list: readonly string[] = values
    return `${name} ${JSON.stringify(list.toSorted(compareTexts))}`
  })
  return lists.toSorted(compareTexts).join()
}

function isCertain({ times, chance = 1 }: RequestFault | StoreFault): boolean {
  return times === undefined && chance === 1
}

function decisionsOf({ requests, store }: ObeyedFaults): Decision[] {
  return [
    ...requests.map((fault) => ({
      id: fault.id,
      about: `${decidedBy(fault.action)} ${textOf(fault.match)}`,
      how: JSON.stringify(fault.action),
      isCertain: isCertain(fault),
    })),
    ...store.map((fault) => ({
      id: fault.id,
      about: 'delayMs' in fault.action ? 'store: how late' : 'store: whether',
      how: JSON.stringify(fault.action),
      isCertain: isCertain(fault),
    })),
  ]
}

/** Throws an InvalidFaultError that names both. Faults that end by themselves, or happen by chance, contradict nothing. */
export function refuseContradictions(faults: ObeyedFaults): void {
  const first = new Map<string, Decision>()
  for (const decision of decisionsOf(faults)) {
    if (!decision.isCertain) continue
    const other = first.get(decision.about)
    if (other === undefined) first.set(decision.about, decision)
    else if (other.how !== decision.how) {
      throw new InvalidFaultError(
        `the faults ${JSON.stringify(other.id)} and ${JSON.stringify(decision.id)} contradict each other: they match the same, ` +
          `and one says ${other.how}, the other ${decision.how}: take one away, or give it times or a chance`,
      )
    }
  }
}
