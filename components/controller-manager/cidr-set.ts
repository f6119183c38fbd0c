/** CidrSet: a range of addresses cut into smaller ones of one size, which are occupied and released (upstream: nodeipam/ipam/cidrset). */
import type { IpRange } from '../machinery/validation/ip-address.ts'
import {
  formatIpRange,
  parseIpRange,
  rangeContains,
  sizeOfRange,
} from '../machinery/validation/ip-address.ts'
import { cidrSetCounts } from './cidr-set-metrics.ts'
import type { CidrSetCounts, CidrSetMetrics } from './cidr-set-metrics.ts'

/** An IPv6 range is cut into at most 2^16 ranges. */
const longestIpv6Cut = 16

/** The first and last index, both included. */
interface Span {
  readonly first: number
  readonly last: number
}

export class CidrSet {
  readonly whole: IpRange
  readonly #maskSize: number
  readonly #hostBits: bigint
  readonly #count: number
  /** How many occupy each index: two may carry the same range, and the first to go must not free it. */
  readonly #used = new Map<number, number>()
  readonly #counts: CidrSetCounts | undefined
  #next = 0

  /** Throws when ranges of that size do not fit into the whole, or are too many. */
  constructor(whole: IpRange, maskSize: number, metrics?: CidrSetMetrics) {
    const bits = whole.family === 'IPv4' ? 32 : 128
    if (maskSize < whole.prefixLength || maskSize > bits) {
      throw new Error(
        'invalid --cluster-cidr: mask size of cluster CIDR must be less than or equal to --node-cidr-mask-size configured for CIDR family',
      )
    }
    if (whole.family === 'IPv6' && maskSize - whole.prefixLength > longestIpv6Cut)
      throw new Error('New CIDR set failed; the node CIDR size is too big')
    this.whole = whole
    this.#maskSize = maskSize
    this.#hostBits = BigInt(bits - maskSize)
    this.#count = 2 ** (maskSize - whole.prefixLength)
    this.#counts = metrics && cidrSetCounts(metrics, formatIpRange(whole), this.#count)
  }

  /** Occupies the next free range, in turn; undefined when none is free. */
  allocateNext(): string | undefined {
    if (this.#used.size >= this.#count) return undefined
    let index = this.#next
    let passed = 0
    for (; this.#used.has(index); passed += 1) index = (index + 1) % this.#count
    this.#next = (index + 1) % this.#count
    this.#used.set(index, 1)
    this.#counts?.allocated()
    this.#counts?.searched(passed)
    this.#counts?.used(this.#used.size)
    const { family, base } = this.whole
    const first = base + (BigInt(index) << this.#hostBits)
    return formatIpRange({ family, base: first, prefixLength: this.#maskSize })
  }

  overlaps(text: string): boolean {
    const range = parseIpRange(text)
    if (range === undefined) return false
    const { family, base } = this.whole
    return (
      rangeContains(range, { family, value: base }) ||
      rangeContains(this.whole, { family: range.family, value: range.base })
    )
  }

  /** Occupies all ranges that this one touches. Throws when it lies outside the whole. */
  occupy(text: string): void {
    const { first, last } = this.#spanOf(text)
    for (let index = first; index <= last; index += 1) {
      const users = this.#used.get(index) ?? 0
      if (users === 0) this.#counts?.allocated()
      this.#used.set(index, users + 1)
    }
    this.#counts?.used(this.#used.size)
  }

  /** Whether any part of the range is occupied. Throws as `occupy`. */
  isOccupied(text: string): boolean {
    const { first, last } = this.#spanOf(text)
    for (let index = first; index <= last; index += 1) if (this.#used.has(index)) return true
    return false
  }

  /** The inverse of `occupy`. */
  release(text: string): void {
    const { first, last } = this.#spanOf(text)
    for (let index = first; index <= last; index += 1) {
      const users = this.#used.get(index) ?? 0
      if (users > 1) this.#used.set(index, users - 1)
      else if (this.#used.delete(index)) this.#counts?.released()
    }
    this.#counts?.used(this.#used.size)
  }

  #spanOf(text: string): Span {
    const range = parseIpRange(text)
    if (range === undefined) throw new Error(`invalid CIDR address: ${text}`)
    if (!this.overlaps(text)) {
      const cluster = formatIpRange(this.whole)
      throw new Error(`cidr ${text} is out the range of cluster cidr ${cluster}`)
    }
    const { base, prefixLength } = this.whole
    if (range.prefixLength <= prefixLength) return { first: 0, last: this.#count - 1 }
    const end = range.base + sizeOfRange(range) - 1n
    const indexOf = (value: bigint): number => Number((value - base) >> this.#hostBits)
    return { first: indexOf(range.base), last: indexOf(end) }
  }
}
