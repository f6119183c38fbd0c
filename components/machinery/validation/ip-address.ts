/** IP addresses and ranges as the API takes them: leading zeros in IPv4 are read as decimal, as upstream's old parser did. */
import { isIPv6 } from 'node:net'
import type { FieldPath } from './field-path.ts'

export type IpFamily = 'IPv4' | 'IPv6'

export interface IpAddress {
  readonly family: IpFamily
  readonly value: bigint
}

export interface IpRange {
  readonly family: IpFamily
  /** The first address. */
  readonly base: bigint
  readonly prefixLength: number
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  let value = 0n
  for (const part of parts) {
    if (!/^[0-9]+$/.test(part) || Number(part) > 255) return undefined
    value = (value << 8n) | BigInt(part)
  }
  return value
}

function parseIpv6(text: string): bigint | undefined {
  if (!isIPv6(text) || text.includes('%')) return undefined
  const lastColon = text.lastIndexOf(':')
  const embedded = text.includes('.') ? parseIpv4(text.slice(lastColon + 1)) : undefined
  const plain =
    embedded === undefined
      ? text
      : `${text.slice(0, lastColon + 1)}${(embedded >> 16n).toString(16)}:${(embedded & 0xffffn).toString(16)}`
  const [head = '', tail] = plain.split('::')
  const groupsOf = (half: string) => (half === '' ? [] : half.split(':'))
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  let value = 0n
  for (const group of [...before, ...zeros, ...after]) {
    value = (value << 16n) | BigInt(`0x${group}`)
  }
  return value
}

const mappedPrefix = 0xffffn << 32n

/** The address, or undefined for anything else. IPv4-mapped IPv6 addresses are IPv4, as in Go. */
export function parseIpAddress(text: string): IpAddress | undefined {
  const four = parseIpv4(text)
  if (four !== undefined) return { family: 'IPv4', value: four }
  const six = parseIpv6(text)
  if (six === undefined) return undefined
  if (six >> 32n === 0xffffn) return { family: 'IPv4', value: six ^ mappedPrefix }
  return { family: 'IPv6', value: six }
}

/** The range, or undefined; host bits are cleared. */
export function parseIpRange(text: string): IpRange | undefined {
  const slash = text.indexOf('/')
  const address = slash < 0 ? undefined : parseIpAddress(text.slice(0, slash))
  const length = text.slice(slash + 1)
  if (address === undefined || !/^[0-9]{1,3}$/.test(length)) return undefined
  const bits = address.family === 'IPv4' ? 32 : 128
  const prefixLength = Number(length)
  if (prefixLength > bits) return undefined
  const hostBits = BigInt(bits - prefixLength)
  return { family: address.family, base: (address.value >> hostBits) << hostBits, prefixLength }
}

/** How many addresses a range has. */
export function sizeOfRange(range: IpRange): bigint {
  return 1n << BigInt((range.family === 'IPv4' ? 32 : 128) - range.prefixLength)
}

export function rangeContains(range: IpRange, address: IpAddress): boolean {
  if (range.family !== address.family) return false
  const offset = address.value - range.base
  return offset >= 0n && offset < sizeOfRange(range)
}

/** The usual text of an address: dotted, or lower-case groups with the longest run of zeros left out. */
export function formatIpAddress({ family, value }: IpAddress): string {
  if (family === 'IPv4') {
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.')
  }
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(16 * (7 - i))) & 0xffffn).toString(16),
  )
  const text = groups.join(':')
  // The first of the longest runs of zeros (RFC 5952, section 4.2.3).
  const [longest] = [...text.matchAll(/(?<=^|:)0(?::0)+(?=:|$)/g)].toSorted(
    ([one], [other]) => other.length - one.length,
  )
  if (longest === undefined) return text
  const before = text.slice(0, longest.index).replace(/:$/, '')
  const after = text.slice(longest.index + longest[0].length).replace(/^:/, '')
  return `${before}::${after}`
}

/** The usual text of a range: `10.9.8.0/24`. */
export function formatIpRange({ family, base, prefixLength }: IpRange): string {
  return `${formatIpAddress({ family, value: base })}/${prefixLength}`
}

export function validateIpAddress(text: string | undefined, at: FieldPath): void {
  if (parseIpAddress(text ?? '') === undefined) {
    at.invalid(text ?? '', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')
  }
}

export function validateIpAddressOf(family: IpFamily, text: string, at: FieldPath): void {
  if (parseIpAddress(text)?.family !== family) at.invalid(text, `must be a valid ${family} address`)
}

export function validateIpRange(text: string | undefined, at: FieldPath): void {
  if (parseIpRange(text ?? '') === undefined) {
    at.invalid(text ?? '', 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')
  }
}

/** Two or more texts of which both families occur. */
export function isDualStack(texts: readonly string[]): boolean {
  const families = new Set(texts.map((text) => parseIpAddress(text.split('/')[0] ?? '')?.family))
  return families.has('IPv4') && families.has('IPv6')
}

const loopback = ['127.0.0.0/8', '::1/128']

const specialRanges: readonly { readonly ranges: readonly string[]; readonly message: string }[] = [
  {
    ranges: loopback,
    message: 'may not be in the loopback range (127.0.0.0/8, ::1/128)',
  },
  {
    ranges: ['169.254.0.0/16', 'fe80::/10'],
    message: 'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  },
  {
    ranges: ['224.0.0.0/24', 'ff02::/16'],
    message: 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  },
]

function isWithin(address: IpAddress, ranges: readonly string[]): boolean {
  return ranges.some((range) => {
    const parsed = parseIpRange(range)
    return parsed !== undefined && rangeContains(parsed, address)
  })
}

/** Whether the text is an address by which a machine means itself. */
export function isLoopback(text: string): boolean {
  const address = parseIpAddress(text)
  return address !== undefined && isWithin(address, loopback)
}

/** Addresses that no endpoint outside a node can have: unspecified, loopback, link-local. */
export function validateNonSpecialIp(text: string, at: FieldPath): void {
  const address = parseIpAddress(text)
  if (address === undefined) {
    at.invalid(text, 'must be a valid IP address')
    return
  }
  if (address.value === 0n) at.invalid(text, `may not be unspecified (${text})`)
  for (const { ranges, message } of specialRanges) {
    if (isWithin(address, ranges)) at.invalid(text, message)
  }
}
