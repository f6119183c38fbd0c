/** FakeClock: time that moves only when a test steps it, and randomness that repeats. */
import type { Clock } from '../../components/component-base/clock.ts'

interface Timer {
  readonly at: number
  readonly order: number
  readonly fire: () => void
}

/** Lets promise callbacks and I/O that are already due run. */
export async function settle(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve)
    })
  }
}

/** How Node names what it does with files. */
const fileWork = /^(FSReq|FileHandle|CloseReq)/i

/** As `settle`, when all is done that this process does with files: that takes real time. Not where it never ends. */
export async function settleFiles(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await settle(1)
    if (process.getActiveResourcesInfo().some((name) => fileWork.test(name))) turn = -1
  }
}

export class FakeClock implements Clock {
  #now: number
  #setBackMs = 0
  #order = 0
  #timers: Timer[] = []
  #seed: number
  #uuids = 0

  constructor(start: number | string = '2025-01-01T00:00:00Z', seed = 1) {
    this.#now = typeof start === 'number' ? start : Date.parse(start)
    this.#seed = seed
  }

  now(): number {
    return this.#now
  }

  elapsed(): number {
    return this.#now + this.#setBackMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error)
        return
      }
      const aborted = (): void => {
        cancel()
        reject(signal?.reason as Error)
      }
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', aborted)
        resolve()
      })
      signal?.addEventListener('abort', aborted, { once: true })
    })
  }

  after(ms: number, callback: () => void): () => void {
    this.#order += 1
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order, fire: callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(({ order }) => order !== timer.order)
    }
  }

  /** A repeatable sequence in [0, 1). */
  random(): number {
    this.#seed = (this.#seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return this.#seed / 2_147_483_648
  }

  uuid(): string {
    this.#uuids += 1
    return `00000000-0000-4000-8000-${String(this.#uuids).padStart(12, '0')}`
  }

  randomBytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => Math.floor(this.random() * 256)))
  }

  /** How many sleeps and callbacks are waiting. */
  get pending(): number {
    return this.#timers.length
  }

  /** Milliseconds until the next timer; undefined when none waits. */
  get nextInMs(): number | undefined {
    const next = this.#next()
    return next === undefined ? undefined : next.at - this.#now
  }

  /** Moves time, firing what falls due in order, and lets each firing's consequences run before the next one. */
  async step(ms: number): Promise<void> {
    const end = this.#now + ms
    await settle()
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#now = Math.max(this.#now, next.at)
      const { at } = next
      for (const timer of this.#timers.filter((other) => other.at <= at)) {
        this.#timers = this.#timers.filter((other) => other !== timer)
        timer.fire()
      }
      await settle()
    }
    this.#now = end
  }

  /** Somebody corrects the wall clock: what waits goes on waiting as long as before. */
  setBack(ms: number): void {
    this.#now -= ms
    this.#setBackMs += ms
    this.#timers = this.#timers.map((timer) => ({ ...timer, at: timer.at - ms }))
  }

  #next(): Timer | undefined {
    this.#timers.sort((a, b) => a.at - b.at || a.order - b.order)
    return this.#timers[0]
  }
}
