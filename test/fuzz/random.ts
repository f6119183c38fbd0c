/** Repeatable randomness for the fuzzer: the same seed gives the same requests. */

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 up to, not including, `below`. */
  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    const found = from[this.int(from.length)]
    if (found === undefined && from.length === 0) throw new Error('nothing to pick from')
    return found as T
  }

  many<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.int(most + 1) }, make)
  }
}
