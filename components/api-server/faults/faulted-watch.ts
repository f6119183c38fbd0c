/**
 * FaultedWatch: what faults do to the events of one watch. They happen to events, so also to those of watches that were open before the
 * fault. A watch that has lost events ends with 410 once the fault is over: its client lists again, and misses nothing for good.
 */
import type { Clock } from '../../component-base/clock.ts'
import type { RequestAction } from '../../component-base/request-fault.ts'
import type { ActiveFault } from './active-fault.ts'
import type { Faults, RequestRule } from './faults.ts'
import type { SeenRequest } from './request-matcher.ts'

type WatchAction = NonNullable<RequestAction['watch']>

interface WatchRule {
  readonly fault: ActiveFault
  readonly action: WatchAction
}

interface HeldFrame {
  readonly frame: Buffer
  readonly dueMs: number
}

const none: readonly Buffer[] = Object.freeze([])

const happens = ({ action }: WatchRule, events: string): boolean =>
  'events' in action && action.events === events

export class FaultedWatch {
  readonly #faults: Faults
  readonly #request: SeenRequest
  readonly #clock: Pick<Clock, 'now' | 'after'>
  readonly #wake: () => void
  readonly #mostBytes: number
  #rules: readonly RequestRule[] | undefined
  #matching: readonly WatchRule[] = []
  /** In the order of events. */
  #held: HeldFrame[] = []
  #heldBytes = 0
  #cancelTimer = (): void => {}
  #hasLost = false
  #ending: 'expire' | 'end' | undefined

  /** `wake` is called when a held event is due. More than `mostBytes` of held events end the watch. */
  constructor(options: {
    readonly faults: Faults
    readonly request: SeenRequest
    readonly clock: Pick<Clock, 'now' | 'after'>
    readonly wake: () => void
    readonly mostBytes: number
  }) {
    this.#faults = options.faults
    this.#request = options.request
    this.#clock = options.clock
    this.#wake = options.wake
    this.#mostBytes = options.mostBytes
  }

  /** Set once the watch is to end: with 410, or as if its time were over. */
  get ending(): 'expire' | 'end' | undefined {
    return this.#ending
  }

  /** Whether events wait for their time: nothing else may be sent before them. */
  get isHolding(): boolean {
    return this.#held.length > 0
  }

  /** Whether nothing is left of the faults that it has met. */
  get isUntouched(): boolean {
    return !this.#hasLost && !this.isHolding && this.#ending === undefined
  }

  /** Looks at the rules as they are now: some end the watch without waiting for an event. */
  look(): void {
    this.#follow()
    if (this.#ending !== undefined) return
    const fired = this.#matching.find(
      (rule) => (happens(rule, 'expire') || happens(rule, 'end')) && rule.fault.fires(),
    )
    if (fired !== undefined) this.#ending = happens(fired, 'expire') ? 'expire' : 'end'
    else if (this.#hasLost && !this.#matching.some((rule) => happens(rule, 'drop')))
      this.#ending = 'expire'
  }

  #follow(): void {
    const { requests } = this.#faults
    if (requests === this.#rules) return
    this.#rules = requests
    this.#matching = (requests ?? []).flatMap(({ fault, matches, action: { watch } }) =>
      watch !== undefined && matches(this.#request) ? [{ fault, action: watch }] : [],
    )
    // What nothing delays any more is due.
    if (!this.#matching.some(({ action }) => 'delayMs' in action))
      this.#held = this.#held.map(({ frame }) => ({ frame, dueMs: 0 }))
  }

  #fires(events: string): boolean {
    return this.#matching.some((rule) => happens(rule, events) && rule.fault.fires())
  }

  #delayMs(): number | undefined {
    for (const { fault, action } of this.#matching)
      if ('delayMs' in action && fault.fires()) return action.delayMs
    return undefined
  }

  /** Whether it has lost events to a fault that drops no more: the next sign of life would hide that. */
  #isOver(): boolean {
    return (
      this.#hasLost && this.#matching.every((rule) => !happens(rule, 'drop') || rule.fault.isOver)
    )
  }

  /** What of these events is to be sent now, and of those that were held. `isSpared`: no event, but the start or the end of the watch. */
  pass(frames: readonly Buffer[], isSpared: (frame: Buffer) => boolean): readonly Buffer[] {
    if (this.#ending !== undefined) return none
    const nowMs = this.#clock.now()
    for (const frame of frames) {
      if (!isSpared(frame) && this.#isOver()) {
        this.#ending = 'expire'
        break
      }
      if (isSpared(frame)) this.#hold(frame, nowMs)
      else this.#take(frame, nowMs)
    }
    return this.#due(nowMs)
  }

  #take(frame: Buffer, nowMs: number): void {
    if (this.#fires('drop')) {
      this.#hasLost = true
      return
    }
    const dueMs = nowMs + (this.#delayMs() ?? 0)
    this.#hold(frame, dueMs)
    if (this.#fires('repeat')) this.#hold(frame, dueMs)
  }

  /** Never before what is held already. */
  #hold(frame: Buffer, dueMs: number): void {
    const last = this.#held.at(-1)?.dueMs ?? 0
    this.#held.push({ frame, dueMs: Math.max(dueMs, last) })
    this.#heldBytes += frame.length
    if (this.#heldBytes > this.#mostBytes) this.#ending = 'expire'
  }

  #due(nowMs: number): readonly Buffer[] {
    const later = this.#held.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = later === -1 ? this.#held : this.#held.slice(0, later)
    this.#held = later === -1 ? [] : this.#held.slice(later)
    for (const { frame } of due) this.#heldBytes -= frame.length
    this.#cancelTimer()
    const [next] = this.#held
    this.#cancelTimer =
      next === undefined ? () => {} : this.#clock.after(next.dueMs - nowMs, this.#wake)
    return due.map(({ frame }) => frame)
  }

  /** Whether a bookmark that is due is not sent: one after lost events would hide them. */
  withholdsBookmark(): boolean {
    if (this.#hasLost) {
      if (this.#isOver()) this.#ending = 'expire'
      return true
    }
    return this.#matching.some(({ fault, action }) => 'bookmarks' in action && fault.fires())
  }

  close(): void {
    this.#cancelTimer()
  }
}
