/** ExpiringCache: values that expire, bounded in number; it evicts the least recently used. */
import type { Clock } from './clock.ts'

interface Entry<V> {
  readonly value: V
  readonly untilMs: number
  /** How many entries had been added when it took its place in the order. */
  placedAt: number
}

export class ExpiringCache<V> {
  readonly #entries = new Map<string, Entry<V>>()
  #placed = 0
  readonly #most: number
  readonly #clock: Clock

  constructor(options: { most: number; clock: Clock }) {
    this.#most = options.most
    this.#clock = options.clock
  }

  /** With the expired ones that were not asked for since. */
  get size(): number {
    return this.#entries.size
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry.untilMs <= this.#clock.now()) {
      this.#entries.delete(key)
      return undefined
    }
    // One of the newest entries is far from eviction: moving it would cost more than finding it.
    if (this.#placed - entry.placedAt > this.#most / 8) this.#place(key, entry)
    return entry.value
  }

  /** With a time of 0, caches nothing. */
  set(key: string, value: V, ttlMs: number): void {
    if (ttlMs <= 0) return
    this.#entries.delete(key)
    if (this.#entries.size >= this.#most) {
      const oldest = this.#entries.keys().next()
      if (oldest.done !== true) this.#entries.delete(oldest.value)
    }
    this.#place(key, { value, untilMs: this.#clock.now() + ttlMs, placedAt: 0 })
  }

  /** At the end of the order. */
  #place(key: string, entry: Entry<V>): void {
    this.#entries.delete(key)
    this.#placed += 1
    entry.placedAt = this.#placed
    this.#entries.set(key, entry)
  }
}
