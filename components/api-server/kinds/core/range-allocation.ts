/**
 * RangeAllocation: which values of a range Services use, as one key that all servers on a store compare and swap (upstream:
 * registry/core/service/allocator/storage, core/v1 RangeAllocation). A bit is set before its Service is written and cleared after
 * that is gone; the repair loop clears what a server that ended in between has left.
 */
import type { KeyValue, Store } from '../../../store/store.ts'
import { readServerObject, writeServerObject } from '../../watch-cache/server-object.ts'
import { storeRoot } from '../../watch-cache/store-keys.ts'

export interface RangeAllocationOptions {
  readonly store: Store
  /** `serviceips` or `servicenodeports`. */
  readonly name: string
  /** As the flag has it. What is stored for another range is made anew. */
  readonly range: string
  /** How many values the range has. */
  readonly size: number
  /** The values that Services use, for a store that has none of this range. */
  readonly initial: () => Promise<Iterable<number>>
}

/** The key's object; only servers read it. */
interface StoredRange {
  readonly range: string
  /** Base64 of a big-endian number, whose bit n stands for value n (upstream: allocator.AllocationBitmap). */
  readonly data: string
}

export class RangeAllocation {
  readonly #options: RangeAllocationOptions
  readonly #key: string
  /** As it was last seen. */
  #known: KeyValue | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: RangeAllocationOptions) {
    this.#options = options
    this.#key = `${storeRoot}ranges/${options.name}`
  }

  /** Takes all the values, or none: resolves with those that are taken already. */
  async take(values: readonly number[]): Promise<readonly number[]> {
    let taken: readonly number[] = []
    await this.change((bits) => {
      taken = values.filter((value) => bits.has(value))
      if (taken.length === 0) for (const value of values) bits.set(value, true)
    })
    return taken
  }

  async give(values: readonly number[]): Promise<void> {
    await this.change((bits) => {
      for (const value of values) bits.set(value, false)
    })
  }

  /** Changes the newest bits; `edit` runs again when another server was first. One change at a time, so that they do not race. */
  async change(edit: (bits: Bits) => void): Promise<void> {
    const changed = this.#last.then(() => this.#change(edit))
    this.#last = changed.catch(() => {
      // The caller gets the error.
    })
    await changed
  }

  async #change(edit: (bits: Bits) => void): Promise<void> {
    const { store } = this.#options
    let isNewest = this.#known === undefined
    if (isNewest) this.#known = await store.get(this.#key)
    for (;;) {
      const bits = await this.#bits()
      edit(bits)
      if (!bits.isChanged) {
        if (isNewest) return
        // Nothing is written, so nothing says whether another server has changed them.
        this.#known = await store.get(this.#key)
        isNewest = true
        continue
      }
      const value = this.#encode(bits)
      const expectedRevision = this.#known?.modRevision ?? 0
      const result = await store.txn({ key: this.#key, expectedRevision, value })
      if (result.ok) {
        const { revision } = result
        this.#known = { key: this.#key, value, createRevision: revision, modRevision: revision }
        return
      }
      this.#known = result.current
      isNewest = true
    }
  }

  async #bits(): Promise<Bits> {
    const { range, size, initial } = this.#options
    const bits = new Bits(size)
    const stored = this.#known && storedRange(this.#known.value)
    if (stored?.range === range) {
      bits.load(Buffer.from(stored.data, 'base64'))
      return bits
    }
    // The first server of all, or the first with another range.
    for (const value of await initial()) bits.set(value, true)
    bits.isChanged = true
    return bits
  }

  #encode(bits: Bits): Buffer {
    const { range } = this.#options
    const data = bits.bytes.toString('base64')
    return writeServerObject('RangeAllocation', { metadata: {}, range, data })
  }
}

/** Undefined for what no server has written: the Services say which values are in use. */
function storedRange(value: Buffer): StoredRange | undefined {
  const { range, data } = readServerObject('RangeAllocation', value) ?? {}
  return typeof range === 'string' && typeof data === 'string' ? { range, data } : undefined
}

export class Bits {
  readonly bytes: Buffer
  isChanged = false

  constructor(size: number) {
    this.bytes = Buffer.alloc(Math.ceil(size / 8))
  }

  /** Leading zeros may be missing. */
  load(stored: Buffer): void {
    const from = Math.max(0, stored.length - this.bytes.length)
    stored.copy(this.bytes, Math.max(0, this.bytes.length - stored.length), from)
  }

  #at(value: number): { readonly index: number; readonly mask: number } {
    return { index: this.bytes.length - 1 - (value >>> 3), mask: 1 << (value & 7) }
  }

  has(value: number): boolean {
    const { index, mask } = this.#at(value)
    return ((this.bytes[index] ?? 0) & mask) !== 0
  }

  set(value: number, isSet: boolean): void {
    if (this.has(value) === isSet) return
    const { index, mask } = this.#at(value)
    this.bytes[index] = (this.bytes[index] ?? 0) ^ mask
    this.isChanged = true
  }

  /** Those that are set, ascending. */
  *values(): IterableIterator<number> {
    for (let value = 0; value < this.bytes.length * 8; value += 1) if (this.has(value)) yield value
  }
}
