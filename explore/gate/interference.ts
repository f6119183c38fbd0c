/** Interference: which faults of a plan meet which requests and events of a run. Each fault says whether it has fired. */
import type { Clock } from '../../components/component-base/clock.ts'
import type { PlannedFault } from '../planned-fault.ts'
import { isWatch } from './target.ts'
import type { Point } from './target.ts'
import type { EventFate } from './watch-relay.ts'

export type RequestFate =
  | { readonly kind: 'pass' }
  | { readonly kind: 'kill-before' | 'kill-after' | 'lose-answer' }
  | { readonly kind: 'refuse'; readonly code: number }

/** What a controller that has started again sees for a while: lists as of a revision, and watches that stand still. */
export interface OldView {
  readonly revision: string
  /** From its first request on. */
  readonly forMs: number
}

const pass: RequestFate = { kind: 'pass' }

function isAt(one: Point, other: Point): boolean {
  return (
    one.verb === other.verb &&
    one.resource === other.resource &&
    one.namespace === other.namespace &&
    one.name === other.name &&
    one.nth === other.nth
  )
}

export class Interference {
  readonly #faults: readonly PlannedFault[]
  readonly #clock: Pick<Clock, 'now'>
  readonly #fired = new Set<PlannedFault>()
  readonly #over = new Set<PlannedFault>()
  step = 0
  #oldView: OldView | undefined
  #oldUntilMs = 0

  constructor(faults: readonly PlannedFault[], clock: Pick<Clock, 'now'>) {
    this.#faults = faults
    this.#clock = clock
  }

  /** Faults that nothing has met. */
  get unfired(): readonly PlannedFault[] {
    return this.#faults.filter((fault) => !this.#fired.has(fault))
  }

  noteFired(fault: PlannedFault): void {
    this.#fired.add(fault)
  }

  /** The next process sees this. */
  showOld(view: OldView): void {
    this.#oldView = view
    this.#oldUntilMs = Infinity
  }

  /** A process has sent its first request. */
  spoken(): void {
    if (this.#oldView !== undefined && this.#oldUntilMs === Infinity)
      this.#oldUntilMs = this.#clock.now() + this.#oldView.forMs
  }

  fateOf(point: Point): RequestFate {
    for (const fault of this.#faults) {
      if (!('at' in fault) || this.#fired.has(fault) || !isAt(fault.at, point)) continue
      this.#fired.add(fault)
      return fault.kind === 'refuse' ? { kind: 'refuse', code: fault.code } : { kind: fault.kind }
    }
    return pass
  }

  /** How much later requests are passed on. */
  get delayMs(): number {
    const slow = this.#faults.filter((fault) => fault.kind === 'slow')
    for (const fault of slow) this.#fired.add(fault)
    return slow.reduce((sum, { ms }) => sum + ms, 0)
  }

  fateOfEvent(resource: string): EventFate {
    let notBeforeMs = this.#oldUntilMs
    let times = 1
    for (const fault of this.#faults) {
      if (!('resource' in fault) || fault.resource !== resource) continue
      if (fault.kind === 'late-events') {
        this.#fired.add(fault)
        notBeforeMs = Math.max(notBeforeMs, this.#clock.now() + fault.ms)
      }
      if (fault.kind === 'repeat-events') {
        this.#fired.add(fault)
        times = 2
      }
      if (fault.kind === 'relist' && fault.step === this.step && !this.#fired.has(fault)) {
        this.#fired.add(fault)
        return 'expire'
      }
      if (fault.kind === 'unseen' && !this.#over.has(fault) && fault.from <= this.step) {
        this.#fired.add(fault)
        return 'drop'
      }
    }
    return { notBeforeMs, times }
  }

  /** The step has come to rest: whether watches end now that have hidden what happened. */
  endsBlindness(): boolean {
    const ending = this.#faults.filter((fault) => fault.kind === 'unseen' && fault.to === this.step)
    for (const fault of ending) this.#over.add(fault)
    return ending.length > 0
  }

  /** Whether the controller cannot see all of this step before the next one. */
  get isBlindLater(): boolean {
    return this.#faults.some(
      (fault) => fault.kind === 'unseen' && fault.from <= this.step && this.step < fault.to,
    )
  }

  /** A list that takes any state gets that of the old view. */
  viewOf(url: URL): URL {
    if (this.#oldView === undefined || this.#oldUntilMs <= this.#clock.now()) return url
    if (!takesOldView(url)) return url
    const old = new URL(url)
    old.searchParams.set('resourceVersion', this.#oldView.revision)
    old.searchParams.set('resourceVersionMatch', 'Exact')
    old.searchParams.delete('limit')
    return old
  }
}

/** Servers answer a list of resourceVersion 0 from whatever their cache holds. */
export function takesOldView(url: URL): boolean {
  return !isWatch(url) && url.searchParams.get('resourceVersion') === '0'
}
