/** Watches the memory of a process that should not grow: the first readings warm it up, later ones may not exceed them by much. */

/** By then an idle server has collected what a load left (component-base/idle-memory.ts). */
export const settledMs = 15_000

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
