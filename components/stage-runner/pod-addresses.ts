/** PodAddresses: addresses of pods on fake nodes. A pod keeps its own, and another pod gets them once it is gone. */
import {
  formatIpAddress,
  parseIpAddress,
  parseIpRange,
  rangeContains,
  sizeOfRange,
} from '../machinery/validation/ip-address.ts'

interface Pool {
  readonly used: Set<string>
  next: bigint
}

export class PodAddresses {
  readonly #pools = new Map<string, Pool>()
  /** By pod, and by range. */
  readonly #given = new Map<string, Map<string, string>>()

  /** The pod's address in each range. Throws an Error for an invalid or a full range. */
  of(pod: string, ranges: readonly string[]): readonly string[] {
    const given = this.#given.get(pod) ?? new Map<string, string>()
    this.#given.set(pod, given)
    return ranges.map((range) => {
      const address = given.get(range) ?? this.#next(range)
      given.set(range, address)
      return address
    })
  }

  /** The pod has these addresses already. */
  note(pod: string, addresses: readonly string[], ranges: readonly string[]): void {
    for (const text of addresses) {
      const address = parseIpAddress(text)
      const range = ranges.find((one) => {
        const parsed = parseIpRange(one)
        return parsed !== undefined && address !== undefined && rangeContains(parsed, address)
      })
      if (range === undefined) continue
      this.#pool(range).used.add(text)
      const given = this.#given.get(pod) ?? new Map<string, string>()
      this.#given.set(pod, given.set(range, text))
    }
  }

  /** The pod is gone. */
  release(pod: string): void {
    for (const [range, address] of this.#given.get(pod) ?? [])
      this.#pool(range).used.delete(address)
    this.#given.delete(pod)
  }

  #pool(range: string): Pool {
    const pool = this.#pools.get(range) ?? { used: new Set<string>(), next: 1n }
    this.#pools.set(range, pool)
    return pool
  }

  #next(text: string): string {
    const range = parseIpRange(text)
    if (range === undefined) throw new Error(`${text} is no range of addresses`)
    const pool = this.#pool(text)
    const size = sizeOfRange(range)
    // Of a range of addresses the first is the network's.
    if (BigInt(pool.used.size) >= size - 1n) throw new Error(`all addresses of ${text} are in use`)
    for (;;) {
      if (pool.next >= size) pool.next = 1n
      const value = range.base + pool.next
      pool.next += 1n
      const address = formatIpAddress({ family: range.family, value })
      if (pool.used.has(address)) continue
      pool.used.add(address)
      return address
    }
  }
}
