/**
 * FollowedClock: the time of a cluster, as its authority sets it. Until a first setting it is the base clock and its timers are the base
 * clock's; from then on it keeps them itself, and they fire in the order of time at any speed. It never goes back.
 */
import { AbortableWaits } from './abortable-waits.ts'
import type { Clock } from './clock.ts'
import { isRealTime, timeAt } from './time-setting.ts'
import type { TimeSetting } from './time-setting.ts'
import { Timers } from './timers.ts'
import type { AwaitedTimer, TimerMark } from './timers.ts'

const awaitedMark: TimerMark = { isBackground: false }

/** A timer of the base clock, from before the first setting. */
interface BaseTimer {
  readonly dueMs: number
  readonly fire: () => void
  readonly mark: TimerMark
  readonly cancelBase: () => void
  /** Once it has moved to this clock's own timers. */
  cancelOwn?: () => void
}

export class FollowedClock implements Clock {
  readonly #base: Clock
  #setting: TimeSetting | undefined
  /** What time it was when the setting came: a setting from a little earlier does not set it back. */
  #leastMs = -Infinity
  #elapsed = { ms: 0, baseMs: 0 }
  #restedMs = 0
  readonly #timers = new Timers()
  readonly #sleeps = new AbortableWaits()
  readonly #baseTimers = new Set<BaseTimer>()
  #armed: { readonly dueMs: number; readonly cancel: () => void } | undefined
  #isReleased = false
  #isEnded = false
  /** The same time; what it waits for recurs, or is a deadline. */
  readonly background: Clock
  readonly upkeep: Clock
  readonly real: Clock

  constructor(base: Clock, setting: TimeSetting | undefined = undefined) {
    this.#base = base
    this.real = base
    const withMark = (mark: TimerMark): Clock => ({
      now: () => this.now(),
      elapsed: () => this.elapsed(),
      isReal: () => this.isReal(),
      rested: () => this.#restedMs,
      ...this.marked(mark),
      random: () => base.random(),
      uuid: () => base.uuid(),
      randomBytes: (length) => base.randomBytes(length),
    })
    this.background = withMark({ isBackground: true })
    this.upkeep = withMark({ isBackground: true, isUpkeep: true })
    if (setting === undefined) return
    this.set(setting)
    // No time was drawn before it.
    this.#leastMs = -Infinity
  }

  now(): number {
    return this.#line() + (this.#setting?.skewMs ?? 0)
  }

  elapsed(): number {
    const passedMs = this.#base.elapsed() - this.#elapsed.baseMs
    return this.#elapsed.ms + passedMs * (this.#setting?.speed ?? 1)
  }

  isReal(): boolean {
    return this.#setting === undefined || isRealTime(this.#setting)
  }

  rested(): number {
    return this.#restedMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#sleep(ms, signal, awaitedMark)
  }

  after(ms: number, callback: () => void): () => void {
    return this.#after(ms, callback, awaitedMark)
  }

  /** Timers with this mark. */
  marked(mark: TimerMark): Pick<Clock, 'sleep' | 'after'> {
    return {
      sleep: (ms, signal) => this.#sleep(ms, signal, mark),
      after: (ms, callback) => this.#after(ms, callback, mark),
    }
  }

  random(): number {
    return this.#base.random()
  }

  uuid(): string {
    return this.#base.uuid()
  }

  randomBytes(length: number): Buffer {
    return this.#base.randomBytes(length)
  }

  /** When the next timer is due. */
  get dueMs(): number | undefined {
    return this.#timers.dueMs
  }

  /** The next timer that neither recurs nor is a deadline. */
  get awaited(): AwaitedTimer | undefined {
    return this.#timers.awaited
  }

  /** When the next timer is due that is no upkeep; Infinity without one. */
  get restlessMs(): number {
    return this.#timers.restlessMs
  }

  /** Whether a timer is due and has not fired. */
  get isDue(): boolean {
    return (this.#timers.dueMs ?? Infinity) <= this.#line()
  }

  /** Obeys the setting from now on. */
  set(setting: TimeSetting): void {
    if (this.#isReleased || this.#isEnded) return
    const beforeMs = this.#line()
    const elapsedMs = this.elapsed()
    this.#leastMs = beforeMs
    this.#setting = setting
    const leaptMs = Math.max(0, this.#line() - beforeMs)
    if (setting.isRest === true) this.#restedMs += leaptMs
    this.#elapsed = { ms: elapsedMs + leaptMs, baseMs: this.#base.elapsed() }
    for (const timer of this.#baseTimers) {
      timer.cancelBase()
      timer.cancelOwn = this.#timers.add(timer.dueMs, timer.fire, timer.mark)
    }
    this.#baseTimers.clear()
    this.#disarm()
    this.#arm()
  }

  /** Fires what is due, and not what becomes due by that. */
  fireDue(): void {
    this.#timers.fire(this.#line())
  }

  /** Real time goes on from here, whatever settings come: for a process that ends. */
  release(): void {
    if (this.#setting === undefined) return
    this.set({ nowMs: this.#line(), atMs: this.#base.now(), speed: 1 })
    this.#isReleased = true
  }

  /** No timer fires any more. */
  end(): void {
    this.#isEnded = true
    this.#timers.clear()
    this.#disarm()
  }

  /** The cluster's time, by which timers fire. */
  #line(): number {
    const realMs = this.#base.now()
    if (this.#setting === undefined) return realMs
    return Math.max(this.#leastMs, timeAt(this.#setting, realMs))
  }

  #sleep(ms: number, signal: AbortSignal | undefined, mark: TimerMark): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error)
        return
      }
      let leave = (): void => {}
      const cancel = this.#after(
        ms,
        () => {
          leave()
          resolve()
        },
        mark,
      )
      if (signal === undefined) return
      leave = this.#sleeps.add(signal, () => {
        cancel()
        reject(signal.reason as Error)
      })
    })
  }

  #after(ms: number, callback: () => void, mark: TimerMark): () => void {
    const dueMs = this.#line() + Math.max(0, ms)
    if (this.#setting === undefined) return this.#afterBase(ms, { dueMs, fire: callback, mark })
    const cancel = this.#timers.add(dueMs, callback, mark)
    this.#arm()
    return cancel
  }

  #afterBase(ms: number, one: Pick<BaseTimer, 'dueMs' | 'fire' | 'mark'>): () => void {
    const cancelBase = this.#base.after(ms, () => {
      this.#baseTimers.delete(timer)
      one.fire()
    })
    const timer: BaseTimer = { ...one, cancelBase }
    this.#baseTimers.add(timer)
    return () => {
      this.#baseTimers.delete(timer)
      timer.cancelBase()
      timer.cancelOwn?.()
    }
  }

  #disarm(): void {
    this.#armed?.cancel()
    this.#armed = undefined
  }

  /** One timer of the base clock waits for what is due first. */
  #arm(): void {
    if (this.#isEnded) return
    const { speed, isHeld } = this.#setting as TimeSetting
    const { dueMs } = this.#timers
    if (isHeld === true || dueMs === undefined || this.#armed?.dueMs === dueMs) return
    this.#disarm()
    const leftMs = Math.max(0, dueMs - this.#line())
    // Where time stands still, only what is due already fires.
    if (leftMs > 0 && speed === 0) return
    const cancel = this.#base.after(leftMs === 0 ? 0 : leftMs / speed, () => {
      this.#armed = undefined
      // Timers of Node fire up to a millisecond early.
      this.#timers.fire(Math.max(this.#line(), dueMs))
      this.#arm()
    })
    this.#armed = { dueMs, cancel }
  }
}
