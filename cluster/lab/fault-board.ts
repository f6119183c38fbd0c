/** FaultBoard: the faults of one cluster, active and ended, with their counts and their ends. How they are made to hold is the levers' business. */
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { Log } from '../../components/component-base/log.ts'
import { ClusterError } from '../cluster-error.ts'
import { contradictionOf } from './contradictions.ts'
import type { FaultSpec, FaultStatus } from './fault-spec.ts'
import { happensAtOnce } from './happens-at-once.ts'
import { keepsBack } from './keeps-back.ts'
import type { LabFaults } from './lab.ts'
import type { HeldFault, Levers, NamedFault } from './levers.ts'

/** Ended faults that are still listed; a chaos of thousands must not fill the memory. */
const mostEnded = 1000

interface Entry {
  readonly spec: NamedFault
  readonly held: HeldFault
  readonly sinceMs: number
  fired: number
  ended: FaultStatus['ended']
  cancelEnd: () => void
}

const statusOf = ({ spec, fired, ended, sinceMs }: Entry): FaultStatus => ({
  name: spec.name,
  spec,
  fired,
  sinceMs,
  ...(ended === undefined ? {} : { ended }),
})

export class FaultBoard implements LabFaults {
  readonly #levers: Levers
  readonly #clock: Clock
  readonly #log: Log
  #entries: Entry[] = []
  /** How many faults of each kind had no name of their own. */
  readonly #named = new Map<string, number>()
  /** Calls that overlap follow each other. */
  #last: Promise<unknown> = Promise.resolve()

  /** `clock`: the cluster's. */
  constructor(levers: Levers, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#levers = levers
    this.#clock = clock
    this.#log = log
  }

  /** The spec must have been checked (check-fault.ts). */
  add(spec: FaultSpec): Promise<FaultStatus> {
    return this.#inOrder(async () => {
      await this.#count()
      const named = { ...spec, name: spec.name ?? this.#freeName(spec.kind) } as NamedFault
      this.#checkAgainstActive(named)
      const held = await this.#levers.hold(named)
      const entry: Entry = {
        spec: named,
        held,
        sinceMs: this.#clock.now(),
        fired: 0,
        ended: undefined,
        cancelEnd: () => {},
      }
      this.#entries.push(entry)
      if (spec.name === undefined) this.#named.set(spec.kind, (this.#named.get(spec.kind) ?? 0) + 1)
      if (spec.forMs !== undefined) {
        const end = (): void => void this.#inOrder(() => this.#end(entry, 'time'))
        entry.cancelEnd = this.#clock.after(spec.forMs, end)
      }
      // One that happens at once has happened.
      await this.#count()
      return statusOf(entry)
    })
  }

  list(): Promise<readonly FaultStatus[]> {
    return this.#inOrder(async () => {
      await this.#count()
      return this.#entries.map(statusOf)
    })
  }

  heal(name?: string): Promise<readonly FaultStatus[]> {
    return this.#inOrder(async () => {
      await this.#count()
      const active = this.#active()
      const healed = name === undefined ? active : active.filter((one) => one.spec.name === name)
      if (name !== undefined && healed.length === 0) throw this.#noSuchFault(name)
      // The newest first, as they were laid over each other.
      for (const entry of healed.toReversed()) await this.#end(entry, 'healed')
      return healed.map(statusOf)
    })
  }

  /** Whether a fault that is active keeps work back until time goes on. */
  get keepsBack(): boolean {
    return this.#entries.some(({ ended, spec }) => ended === undefined && keepsBack(spec))
  }

  /** Whether no fault is active. */
  get isEmpty(): boolean {
    return this.#entries.every(({ ended }) => ended !== undefined)
  }

  /** Resolves when what was begun so far is done: ends that were due, too. */
  async settled(): Promise<void> {
    let last: Promise<unknown>
    do {
      last = this.#last
      await last
    } while (last !== this.#last)
  }

  #active(): Entry[] {
    return this.#entries.filter(({ ended }) => ended === undefined)
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {
      // Its caller has it.
    })
    return done
  }

  #freeName(kind: string): string {
    for (let number = (this.#named.get(kind) ?? 0) + 1; ; number += 1) {
      const name = `${kind}-${number}`
      if (!this.#entries.some(({ spec }) => spec.name === name)) return name
    }
  }

  #checkAgainstActive(fault: NamedFault): void {
    for (const { spec } of this.#active()) {
      const healIt = `heal it first: skiff fault heal ${spec.name}`
      if (spec.name === fault.name) {
        throw new ClusterError('already-exists', `a fault named "${fault.name}" is active`, {
          hint: `choose another name, or ${healIt}`,
        })
      }
      const why = contradictionOf(spec, fault)
      if (why === undefined) continue
      throw new ClusterError(
        'usage',
        `fault "${fault.name}" contradicts fault "${spec.name}", which is active: ${why}`,
        { hint: healIt },
      )
    }
  }

  /** Reads the counters; a fault that has fired as often as it may has ended. */
  async #count(): Promise<void> {
    await Promise.all(
      this.#active().map(async (entry) => {
        entry.fired = Math.max(entry.fired, await entry.held.fired())
      }),
    )
    for (const entry of this.#active()) {
      const times = happensAtOnce(entry.spec) ? 1 : entry.spec.times
      if (times !== undefined && entry.fired >= times) await this.#end(entry, 'times')
    }
  }

  async #end(entry: Entry, how: NonNullable<FaultStatus['ended']>): Promise<void> {
    if (entry.ended !== undefined) return
    const { name } = entry.spec
    entry.cancelEnd()
    try {
      await entry.held.end()
      entry.fired = Math.max(entry.fired, await entry.held.fired())
    } catch (error) {
      // It is healed as far as that goes; the part may have ended meanwhile.
      this.#log.warn('a fault did not end cleanly', { name, error: messageOf(error) })
    }
    entry.ended = how
    const { fired } = entry
    if (fired === 0) this.#log.warn('a fault has ended and never fired', { name, how })
    else this.#log.info('a fault has ended', { name, how, fired })
    this.#forgetOldest()
  }

  #forgetOldest(): void {
    const ended = this.#entries.filter((entry) => entry.ended !== undefined)
    const [oldest] = ended
    if (ended.length > mostEnded) this.#entries = this.#entries.filter((one) => one !== oldest)
  }

  #noSuchFault(name: string): ClusterError {
    const names = this.#active().map(({ spec }) => spec.name)
    const hint = names.length === 0 ? 'no fault is active' : `active: ${names.join(', ')}`
    const before = this.#entries.find(({ spec }) => spec.name === name)
    const what =
      before === undefined
        ? `there is no fault "${name}"`
        : `fault "${name}" has ended: ${endText[before.ended ?? 'healed']}`
    return new ClusterError('not-found', what, { hint })
  }
}

/** How a fault ended, in words. */
const endText: Readonly<Record<NonNullable<FaultStatus['ended']>, string>> = {
  times: 'it has fired as often as it may',
  time: 'its time is over',
  healed: 'it was healed',
}
