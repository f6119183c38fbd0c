/** Watches the memory of a process that should not grow: the first readings warm it up, later ones may not exceed them by much. */
import { setTimeout as delay } from 'node:timers/promises'

/** By then an idle server has usually collected what a load left (component-base/idle-memory.ts). */
const settledMs = 15_000
/** By then its history is over, and so is the longest pause between two collections of a server on a busy machine. */
const longestMs = 6 * 60_000

export class MemoryGrowth {
  readonly #what: string
  readonly #warmUps: number
  readonly #mostMb: number
  #readings = 0
  #highest = 0
  #latest = 0

  /** The first `warmUps` readings set the mark; a later one more than `mostMb` above it is an error. */
  constructor(what: string, options: { warmUps: number; mostMb: number }) {
    this.#what = what
    this.#warmUps = options.warmUps
    this.#mostMb = options.mostMb
  }

  /** Reads an idle process, repeatedly while it is above the bound, until it has had ample time to return the memory. */
  async readIdle(residentMb: () => number): Promise<void> {
    await delay(settledMs)
    const isWarm = this.#readings >= this.#warmUps
    for (let passedMs = settledMs; passedMs < longestMs; passedMs += settledMs) {
      if (!isWarm || residentMb() <= this.#highest + this.#mostMb) break
      await delay(settledMs)
    }
    this.read(residentMb())
  }

  read(mb: number): void {
    this.#readings += 1
    this.#latest = mb
    if (this.#readings <= this.#warmUps) this.#highest = Math.max(this.#highest, mb)
    else if (mb > this.#highest + this.#mostMb) {
      throw new Error(`${this.#what} grew from ${this.#highest.toFixed(0)} to ${mb.toFixed(0)} MB`)
    }
  }

  get note(): string {
    return `${this.#what} ${this.#latest.toFixed(0)} MB`
  }
}
