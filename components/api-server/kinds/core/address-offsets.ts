/** Addresses of a range by their offsets into it, and which of them to try first (upstream: ipallocator; KEP-3070). */
import {
  formatIpAddress,
  parseIpAddress,
  rangeContains,
  sizeOfRange,
  type IpFamily,
  type IpRange,
} from '../../../machinery/validation/ip-address.ts'

export interface AddressOffsets {
  readonly family: IpFamily
  /** After the last offset that a Service can have; the first is 1. */
  readonly end: number
  /** Undefined for what is no address that a Service can have. */
  offsetOf(text: string): number | undefined
  textOf(offset: number): string
}

/** Of larger ranges only the first `most` addresses have an offset. */
export function addressOffsets(range: IpRange, most: number): AddressOffsets {
  const { family, base } = range
  const size = sizeOfRange(range)
  const total = size > BigInt(most) ? most : Number(size)
  // The network's own address is never given out, nor is the broadcast address of IPv4.
  const end = family === 'IPv4' ? total - 1 : total
  return {
    family,
    end,
    offsetOf(address) {
      const parsed = parseIpAddress(address)
      if (parsed === undefined || !rangeContains(range, parsed)) return undefined
      const offset = Number(parsed.value - base)
      return offset >= 1 && offset < end ? offset : undefined
    },
    textOf: (offset) => formatIpAddress({ family, value: base + BigInt(offset) }),
  }
}

/** Offsets from `start` to before `end`. */
export interface Band {
  readonly start: number
  readonly end: number
}

/** The lower part of a range is left to those who name their value (KEP-3070, KEP-3668). */
export function staticPart(
  size: number,
  rules: { min: number; max: number; share: number },
): number {
  if (size <= rules.min) return 0
  return Math.min(rules.max, Math.max(rules.min, Math.floor(size / rules.share)))
}

/** Where addresses are looked for, in this order. */
export function addressBands({ family, end }: AddressOffsets): readonly Band[] {
  const size = family === 'IPv4' ? end + 1 : end
  const split = 1 + staticPart(size, { min: 16, max: 256, share: 16 })
  return [
    { start: split, end },
    { start: 1, end: split },
  ]
}

/** A free offset at or after a random one of the band, going around once. */
export function freeOffset(
  { start, end }: Band,
  isFree: (offset: number) => boolean,
  random: () => number,
): number | undefined {
  const size = end - start
  const first = Math.floor(random() * size)
  for (let i = 0; i < size; i += 1) {
    const offset = start + ((first + i) % size)
    if (isFree(offset)) return offset
  }
  return undefined
}
