/** Heap: a binary heap that can also remove from its middle; ties leave in no particular order. */

export class Heap<T extends object> {
  readonly #items: T[] = []
  readonly #index = new Map<T, number>()
  readonly #compare: (a: T, b: T) => number

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  /** The smallest item, left in place. */
  peek(): T | undefined {
    return this.#items[0]
  }

  /** An item must be in the heap at most once, and its rank must not change while it is in. */
  push(item: T): void {
    this.#put(this.#items.length, item)
    this.#up(this.#items.length - 1)
  }

  pop(): T | undefined {
    const first = this.#items[0]
    if (first !== undefined) this.remove(first)
    return first
  }

  /** False if the item is not in the heap. */
  remove(item: T): boolean {
    const at = this.#index.get(item)
    if (at === undefined) return false
    this.#index.delete(item)
    const last = this.#items.pop() as T
    if (last !== item) {
      this.#put(at, last)
      this.#up(at)
      this.#down(this.#index.get(last) as number)
    }
    return true
  }

  #put(at: number, item: T): void {
    this.#items[at] = item
    this.#index.set(item, at)
  }

  #up(from: number): void {
    const item = this.#items[from] as T
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = this.#items[parent] as T
      if (this.#compare(item, above) >= 0) break
      this.#put(at, above)
      at = parent
    }
    this.#put(at, item)
  }

  #down(from: number): void {
    const item = this.#items[from] as T
    let at = from
    for (;;) {
      let child = 2 * at + 1
      const right = child + 1
      if (right < this.#items.length) {
        if (this.#compare(this.#items[right] as T, this.#items[child] as T) < 0) child = right
      }
      if (child >= this.#items.length) break
      const below = this.#items[child] as T
      if (this.#compare(below, item) >= 0) break
      this.#put(at, below)
      at = child
    }
    this.#put(at, item)
  }
}
