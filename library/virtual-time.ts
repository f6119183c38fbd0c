/**
 * VirtualTime: the clock of a scenario on an embedded cluster. While the scenario has nothing to do but wait, the time of both leaps to what is due
 * next, so nobody waits. While a command or a process of the scenario runs, or its clock does not go as fast as real time, time passes as it does outside.
 */
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { AbortableWaits } from '../components/component-base/abortable-waits.ts'
import { nextTurn } from '../components/component-base/next-turn.ts'
import { Timers } from '../components/component-base/timers.ts'
import { UnderWay } from '../components/component-base/under-way.ts'

export interface VirtualTimeOptions {
  /** The cluster's time; how it goes on without leaps. */
  readonly clock: Clock
  /** Whether the cluster's clock goes as fast as real time. */
  readonly mayLeap: () => boolean
  /** Moves the cluster's time on by at most `ms`. Resolves with how much it did, when what followed is on its way. */
  readonly leap: (ms: number) => Promise<number>
}

/** What was sent by the cluster has been read after so many turns without anything new. */
const quietTurns = 3
/** While an agent starts, which also works with the machine's files and sockets, time leaps in small steps, each with some real time. */
const slowly = { leapMs: 250, restMs: 3 }

export class VirtualTime {
  readonly #options: VirtualTimeOptions
  readonly #timers = new Timers()
  readonly #sleeps = new AbortableWaits()
  /** The requests of the scenario's clients. */
  readonly underWay = new UnderWay(systemClock)
  readonly clock: Clock
  #leaptMs = 0
  #works = 0
  #slow = 0
  #changed = Promise.withResolvers<void>()
  #isOver = false
  #lastMs = -Infinity

  constructor(options: VirtualTimeOptions) {
    this.#options = options
    const after: Clock['after'] = (ms, callback) => this.#after(ms, callback)
    this.clock = {
      ...options.clock,
      // What the cluster answers comes a little later than it was asked.
      now: () => (this.#lastMs = Math.max(this.#lastMs, options.clock.now())),
      after,
      sleep: (ms, signal) => this.#sleep(ms, signal),
      real: systemClock,
    }
    void this.#run()
  }

  /** Something is under way that takes real time, until the returned function is called. */
  begin(): () => void {
    this.#works += 1
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      this.#works -= 1
      this.#wake()
    }
  }

  async during<T>(work: Promise<T>): Promise<T> {
    const end = this.begin()
    try {
      return await work
    } finally {
      end()
    }
  }

  /** Time leaps in small steps until the work has ended. */
  async slowly<T>(work: Promise<T>): Promise<T> {
    this.#slow += 1
    try {
      return await work
    } finally {
      this.#slow -= 1
    }
  }

  /** No timer fires any more. */
  end(): void {
    this.#isOver = true
    this.#timers.clear()
    this.#wake()
  }

  /** What has passed for the scenario: real time and leaps. An advance that it asks for itself is none. */
  #line(): number {
    return systemClock.elapsed() + this.#leaptMs
  }

  #wake(): void {
    this.#changed.resolve()
  }

  #after(ms: number, callback: () => void): () => void {
    const cancel = this.#timers.add(this.#line() + ms, callback, { isBackground: false })
    this.#wake()
    return cancel
  }

  #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error)
        return
      }
      let leave = (): void => {}
      const cancel = this.#after(ms, () => {
        leave()
        resolve()
      })
      if (signal === undefined) return
      leave = this.#sleeps.add(signal, () => {
        cancel()
        reject(signal.reason as Error)
      })
    })
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#quiet()
      const { dueMs } = this.#timers
      if (dueMs === undefined) {
        await this.#change()
        continue
      }
      const leftMs = dueMs - this.#line()
      if (leftMs <= 0) this.#timers.fire(this.#line())
      else if (this.#isWaiting()) await this.#leap(leftMs)
      else await this.#change(leftMs)
    }
  }

  /** Whether nothing happens before time goes on. */
  #isWaiting(): boolean {
    return this.#works === 0 && !this.underWay.isBusy && this.#options.mayLeap()
  }

  async #leap(ms: number): Promise<void> {
    try {
      const isSlow = this.#slow > 0
      const wantedMs = isSlow ? Math.min(ms, slowly.leapMs) : ms
      this.#leaptMs += await this.#options.leap(Math.ceil(wantedMs))
      if (isSlow) await systemClock.sleep(slowly.restMs)
    } catch {
      // A component has failed, or the cluster has ended: the scenario's requests say so. Time passes as it does outside.
      await this.#change(ms)
    }
  }

  /** Resolves when something has changed: at the latest after `ms`. */
  async #change(ms?: number): Promise<void> {
    this.#changed = Promise.withResolvers()
    const { promise, resolve } = this.#changed
    const over = new AbortController()
    void this.underWay.next()?.then(resolve)
    if (ms === undefined) return await promise
    // The process goes on while it waits.
    const late = systemClock.sleep(ms, over.signal).catch(() => {})
    await Promise.race([promise, late])
    over.abort(new Error('something has changed'))
  }

  /** Resolves when nothing new has been read for some turns of the event loop. */
  async #quiet(): Promise<void> {
    let activity = -1
    for (let turns = 0; turns < quietTurns; turns += 1) {
      if (activity !== this.underWay.activity) turns = 0
      activity = this.underWay.activity
      await nextTurn()
    }
  }
}
