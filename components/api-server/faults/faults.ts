/** Faults: what the lab has this server obey: the rules for requests, for watches and for the store, and how often each fired. */
import type { Clock } from '../../component-base/clock.ts'
import type {
  FaultCounts,
  ObeyedFaults,
  RequestAction,
  StoreFault,
} from '../../component-base/request-fault.ts'
import { ActiveFault, type Firing } from './active-fault.ts'
import { readFaults } from './read-faults.ts'
import { compileMatch, type Matches } from './request-matcher.ts'

export interface RequestRule {
  readonly fault: ActiveFault
  readonly matches: Matches
  readonly action: RequestAction
}

export interface StoreRule {
  readonly fault: ActiveFault
  readonly action: StoreFault['action']
}

export class Faults {
  readonly #clock: Pick<Clock, 'random'>
  #active = new Map<string, ActiveFault>()
  /** For requests, as they were declared. Undefined without any, so that a request costs one comparison. */
  requests: readonly RequestRule[] | undefined
  /** The same for the store. */
  store: readonly StoreRule[] | undefined
  /** Called after a change, for watches that are open. */
  onChange: (() => void) | undefined

  constructor(clock: Pick<Clock, 'random'>) {
    this.#clock = clock
  }

  /**
   * Obeys these and no others from now on. A fault whose id was there before counts on. Throws an InvalidFaultError; then nothing
   * changes.
   */
  obey(params: unknown): FaultCounts {
    const { requests, store }: ObeyedFaults = readFaults(params)
    const before = this.#active
    this.#active = new Map()
    const activate = (fault: Firing): ActiveFault => {
      const random = (): number => this.#clock.random()
      const active = new ActiveFault(fault, { random, before: before.get(fault.id) })
      this.#active.set(fault.id, active)
      return active
    }
    const requestRules = requests.map((fault) => ({
      fault: activate(fault),
      matches: compileMatch(fault.match),
      action: fault.action,
    }))
    const storeRules = store.map((fault) => ({ fault: activate(fault), action: fault.action }))
    this.requests = requestRules.length === 0 ? undefined : requestRules
    this.store = storeRules.length === 0 ? undefined : storeRules
    this.onChange?.()
    return this.counts()
  }

  counts(): FaultCounts {
    return Object.fromEntries(Array.from(this.#active, ([id, { fired }]) => [id, fired]))
  }
}
