/**
 * ClusterClock: the clock of an embedded cluster. It follows real time from where it was set, can be advanced, and gives the
 * same random choices for the same seed.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../components/component-base/clock.ts'
import { nextTurn } from '../components/component-base/next-turn.ts'
import { patienceMs } from '../components/component-base/under-way.ts'
import type { UnderWay } from '../components/component-base/under-way.ts'

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly fire: () => void
}

export interface ClockState {
  readonly nowMs: number
  /** How much of each sequence of random choices was drawn. */
  readonly drawn: ReadonlyMap<string, number>
  readonly seed: number
}

export class ClusterClock {
  readonly #base: Clock
  readonly #seed: number
  #offsetMs: number
  readonly #drawn: Map<string, number>
  #timers: Timer[] = []
  #order = 0
  /** While time is advanced, it stands still at what is due. */
  #stoodMs: number | undefined
  #armed: { readonly dueMs: number; readonly cancel: () => void } | undefined
  #isEnded = false
  readonly #underWay: Pick<UnderWay, 'next'> | undefined
  /** The last advance; a callback that throws ends the process, as any timer's does. */
  #advanced: Promise<void> = Promise.resolve()

  /** `underWay`: work that an advance waits for before time goes on. */
  constructor(
    base: Clock,
    state: Partial<ClockState> = {},
    underWay: Pick<UnderWay, 'next'> | undefined = undefined,
  ) {
    this.#base = base
    this.#underWay = underWay
    this.#seed = state.seed ?? 1
    this.#drawn = new Map(state.drawn)
    this.#offsetMs = (state.nowMs ?? base.now()) - base.now()
  }

  now(): number {
    return this.#stoodMs ?? this.#base.now() + this.#offsetMs
  }

  elapsed(): number {
    return this.#base.elapsed() + this.#offsetMs
  }

  get state(): ClockState {
    return { nowMs: this.now(), drawn: new Map(this.#drawn), seed: this.#seed }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error)
        return
      }
      const onAbort = (): void => {
        cancel()
        reject(signal?.reason as Error)
      }
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  after(ms: number, callback: () => void): () => void {
    this.#order += 1
    const timer = { dueMs: this.now() + Math.max(0, ms), order: this.#order, fire: callback }
    this.#timers.splice(placeOf(this.#timers, timer), 0, timer)
    this.#arm()
    return () => {
      const at = placeOf(this.#timers, timer)
      if (this.#timers[at] === timer) this.#timers.splice(at, 1)
    }
  }

  /**
   * The same time with random choices of its own, so that what one part draws does not depend on how often others did; and what
   * names are made of not on how many requests there were.
   */
  of(part: string): Clock {
    return {
      now: () => this.now(),
      elapsed: () => this.elapsed(),
      sleep: (ms, signal) => this.sleep(ms, signal),
      after: (ms, callback) => this.after(ms, callback),
      random: () => this.#draw(`${part}/random`, 6).readUIntBE(0, 6) / 2 ** 48,
      uuid: () => this.#uuid(`${part}/uuid`),
      randomBytes: (length) => this.#draw(`${part}/bytes`, length),
    }
  }

  #uuid(sequence: string): string {
    const bytes = this.#draw(sequence, 16)
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
    const hex = bytes.toString('hex')
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(12, 16),
      hex.slice(16, 20),
      hex.slice(20),
    ].join('-')
  }

  /**
   * Moves time on. What falls due on the way happens at its time and in its order, with what follows from it. Calls that overlap follow
   * each other.
   */
  advance(ms: number): Promise<void> {
    const advanced = this.#advanced.then(() => this.#advance(ms))
    this.#advanced = advanced
    return advanced
  }

  async #advance(ms: number): Promise<void> {
    const endMs = this.now() + ms
    this.#stoodMs = this.now()
    try {
      await this.settled()
      for (let next = this.#timers[0]; next !== undefined; next = this.#timers[0]) {
        if (next.dueMs > endMs) break
        this.#stoodMs = Math.max(this.#stoodMs, next.dueMs)
        this.#fireDue(this.#stoodMs)
        await this.settled()
      }
    } finally {
      this.#stoodMs = undefined
      this.#offsetMs = endMs - this.#base.now()
      this.#arm()
    }
  }

  /**
   * Resolves when what was due has had its consequences: no promise callback is left, no work is under way, and none has begun by the
   * end of some other. Work is waited for as `UnderWay` says; where it never ends, no longer than that either.
   */
  async settled(): Promise<void> {
    await nextTurn()
    const untilMs = this.#base.elapsed() + patienceMs
    for (let ended = this.#underWay?.next(); ended !== undefined; ended = this.#underWay?.next()) {
      if (this.#base.elapsed() >= untilMs) return
      await ended
      await nextTurn()
    }
  }

  /** No timer fires any more. */
  end(): void {
    this.#isEnded = true
    this.#timers = []
    this.#armed?.cancel()
    this.#armed = undefined
  }

  /** The next bytes of the sequence. */
  #draw(sequence: string, length: number): Buffer {
    const parts: Buffer[] = []
    for (let have = 0; have < length; have += 32) {
      const drawn = (this.#drawn.get(sequence) ?? 0) + 1
      this.#drawn.set(sequence, drawn)
      parts.push(createHash('sha256').update(`${this.#seed}/${sequence}/${drawn}`).digest())
    }
    return Buffer.concat(parts).subarray(0, length)
  }

  #fireDue(nowMs: number): void {
    const end = this.#timers.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = this.#timers.splice(0, end < 0 ? this.#timers.length : end)
    for (const { fire } of due) fire()
  }

  /** One timer of the base clock waits for what is due first. */
  #arm(): void {
    if (this.#isEnded || this.#stoodMs !== undefined) return
    const first = this.#timers[0]
    if (first === undefined || this.#armed?.dueMs === first.dueMs) return
    this.#armed?.cancel()
    const cancel = this.#base.after(Math.max(0, first.dueMs - this.now()), () => {
      this.#armed = undefined
      if (this.#stoodMs !== undefined) return
      // Timers of Node fire up to a millisecond early.
      this.#fireDue(Math.max(this.now(), first.dueMs))
      this.#arm()
    })
    this.#armed = { dueMs: first.dueMs, cancel }
  }
}

/** Where the timer is, or belongs, in a list in the order of time, and of what was asked for first. */
function placeOf(timers: readonly Timer[], { dueMs, order }: Timer): number {
  let low = 0
  let high = timers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const one = timers[middle] as Timer
    if (one.dueMs < dueMs || (one.dueMs === dueMs && one.order < order)) low = middle + 1
    else high = middle
  }
  return low
}
