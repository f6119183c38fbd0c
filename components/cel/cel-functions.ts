/**
 * The functions that upstream's expressions have beyond the language's own: lists, URLs, quantities and addresses
 * (upstream: apiserver/pkg/cel/library). cel-metered-functions.ts has those whose cost is counted while they run. A value that
 * only functions look into is a map of one key at run time, and an opaque type to the checker.
 */
import type { CelList, CelMap } from '@bufbuild/cel'
import {
  formatIpAddress,
  parseIpAddress,
  parseIpRange,
  rangeContains,
  type IpAddress,
  type IpRange,
} from '../machinery/validation/ip-address.ts'
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  parseQuantity,
  subtractQuantities,
} from '../machinery/values/quantity.ts'
import { box, createLibrary, isBoxOf, unbox, type Library } from './cel-library.ts'
import { compareSemver, semverType } from './cel-semver.ts'
import { sameValue } from './cel-same-value.ts'
import { bool, double, dyn, int, listOf, mapOf, opaque, string } from './cel-types.ts'

const url = opaque('kubernetes.URL')
const quantity = opaque('kubernetes.Quantity')
export const quantityType = quantity
const ip = opaque('net.IP')
const cidr = opaque('net.CIDR')

const { define, method, library } = createLibrary()

// Lists.

function compareValues(a: unknown, b: unknown): number {
  const [left, right] = [a, b] as [string, string]
  return left < right ? -1 : left > right ? 1 : 0
}

method('isSorted', [listOf(dyn), [], bool], (list: CelList) => {
  const items = [...list]
  return items.every((item, i) => i === 0 || compareValues(items[i - 1], item) <= 0)
})
method('sum', [listOf(dyn), [], dyn], (list: CelList) => {
  const items = [...list]
  if (items.every((item) => typeof item === 'bigint')) {
    return items.reduce((total, item) => total + item, 0n)
  }
  return items.reduce<number>((total, item) => total + Number(item), 0)
})
for (const [name, sign] of [
  ['min', -1],
  ['max', 1],
] as const) {
  method(name, [listOf(dyn), [], dyn], (list: CelList) => {
    const items = [...list]
    if (items.length === 0) throw new Error(`${name} called on empty list`)
    return items.reduce((best, item) => (compareValues(item, best) === sign ? item : best))
  })
}
method('indexOf', [listOf(dyn), [dyn], int], (list: CelList, value: unknown) =>
  BigInt([...list].findIndex((item) => sameValue(item, value))),
)
method('lastIndexOf', [listOf(dyn), [dyn], int], (list: CelList, value: unknown) =>
  BigInt([...list].findLastIndex((item) => sameValue(item, value))),
)

// URLs: absolute ones, or absolute paths.

interface UrlParts {
  readonly scheme: string
  readonly host: string
  readonly hostname: string
  readonly port: string
  readonly path: string
  readonly query: URLSearchParams
}

function parseUrl(text: string): UrlParts | undefined {
  // Controls and spaces, which the parser would repair or drop, are faults upstream.
  if (/[\p{Cc} ]/u.test(text)) return undefined
  const authority = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(text)
  if (authority === null && !text.startsWith('/')) return undefined
  const whole = authority === null ? `http://path${text}` : text
  if (!URL.canParse(whole)) return undefined
  const { pathname, searchParams } = new URL(whole)
  const [, scheme = '', userAndHost = ''] = authority ?? []
  const host = userAndHost.slice(userAndHost.lastIndexOf('@') + 1)
  const port = /:([0-9]*)$/.exec(host)?.[1] ?? ''
  const path = authority === null || text.slice(authority[0].length).startsWith('/') ? pathname : ''
  const name = host.replace(/:[0-9]*$/, '').replace(/^\[(.*)\]$/, '$1')
  return { scheme: scheme.toLowerCase(), host, hostname: name, port, path, query: searchParams }
}

const urlParts = (value: CelMap): UrlParts => parseUrl(unbox(url, value)) as UrlParts

define('url', [[string], url], (text: string) => {
  if (parseUrl(text) === undefined)
    throw new Error(`URL parse error during conversion from string: ${text}`)
  return box(url, text)
})
define('isURL', [[string], bool], (text: string) => parseUrl(text) !== undefined)
method('getScheme', [url, [], string], (value: CelMap) => urlParts(value).scheme)
method('getHost', [url, [], string], (value: CelMap) => urlParts(value).host)
method('getHostname', [url, [], string], (value: CelMap) => urlParts(value).hostname)
method('getPort', [url, [], string], (value: CelMap) => urlParts(value).port)
method('getEscapedPath', [url, [], string], (value: CelMap) => urlParts(value).path)
method('getQuery', [url, [], mapOf(string, listOf(string))], (value: CelMap) => {
  const { query } = urlParts(value)
  return new Map([...new Set(query.keys())].map((key) => [key, query.getAll(key)]))
})

// Quantities.

const isQuantity = (text: string): boolean => {
  try {
    parseQuantity(text)
    return true
  } catch {
    // The question is whether it can be read.
    return false
  }
}
const nanosPerUnit = 1_000_000_000n
const nanosOf = (value: CelMap): bigint => parseQuantity(unbox(quantity, value)).nanos
const compareBoxed = (a: CelMap, b: CelMap): number =>
  isBoxOf(semverType, a)
    ? compareSemver(a, b)
    : compareQuantities(unbox(quantity, a), unbox(quantity, b))
/** The box of a quantity. Throws an Error for a text that is not a quantity. */
export const quantityBox = (text: string): Record<string, string> =>
  box(quantity, canonicalQuantity(text))
/** Either a quantity or an integer on the right. */
const asText = (value: CelMap | bigint): string =>
  typeof value === 'bigint' ? String(value) : unbox(quantity, value)

define('quantity', [[string], quantity], quantityBox)
define('isQuantity', [[string], bool], isQuantity)
method('isInteger', [quantity, [], bool], (value: CelMap) => nanosOf(value) % nanosPerUnit === 0n)
method('asInteger', [quantity, [], int], (value: CelMap) => {
  if (nanosOf(value) % nanosPerUnit !== 0n) throw new Error('cannot convert value to integer')
  return nanosOf(value) / nanosPerUnit
})
method(
  'asApproximateFloat',
  [quantity, [], double],
  (value: CelMap) => Number(nanosOf(value)) / Number(nanosPerUnit),
)
method('sign', [quantity, [], int], (value: CelMap) => {
  const nanos = nanosOf(value)
  return nanos < 0n ? -1n : nanos > 0n ? 1n : 0n
})
for (const other of [quantity, int]) {
  method('add', [quantity, [other], quantity], (a: CelMap, b: CelMap | bigint) =>
    box(quantity, addQuantities(unbox(quantity, a), asText(b))),
  )
  method('sub', [quantity, [other], quantity], (a: CelMap, b: CelMap | bigint) =>
    box(quantity, subtractQuantities(unbox(quantity, a), asText(b))),
  )
}
method('compareTo', [quantity, [quantity], int], (a: CelMap, b: CelMap) =>
  BigInt(compareBoxed(a, b)),
)
method(
  'isGreaterThan',
  [quantity, [quantity], bool],
  (a: CelMap, b: CelMap) => compareBoxed(a, b) > 0,
)
method('isLessThan', [quantity, [quantity], bool], (a: CelMap, b: CelMap) => compareBoxed(a, b) < 0)

// Addresses and ranges.

/** The address of a text as upstream's new functions read it: no leading zeros, no IPv4 in IPv6, no zone. */
function strictAddress(text: string): IpAddress | undefined {
  if (text.includes('.') && (text.includes(':') || /(?:^|\.)0[0-9]/.test(text))) return undefined
  return parseIpAddress(text)
}

function strictRange(text: string): IpRange | undefined {
  return strictAddress(text.slice(0, text.indexOf('/'))) && parseIpRange(text)
}

const addressOf = (value: CelMap): IpAddress => strictAddress(unbox(ip, value)) as IpAddress
const rangeOf = (value: CelMap): IpRange => strictRange(unbox(cidr, value)) as IpRange
const bitsOf = ({ family }: { readonly family: string }): number => (family === 'IPv4' ? 32 : 128)
/** Whether the address is in one of the ranges. */
const isIn =
  (...ranges: readonly string[]) =>
  (value: CelMap): boolean =>
    ranges.some((range) => rangeContains(parseIpRange(range) as IpRange, addressOf(value)))

define('ip', [[string], ip], (text: string) => {
  if (strictAddress(text) === undefined)
    throw new Error(`IP Address "${text}" parse error during conversion from string`)
  return box(ip, text)
})
define('isIP', [[string], bool], (text: string) => strictAddress(text) !== undefined)
define('ip.isCanonical', [[string], bool], (text: string) => {
  const address = strictAddress(text)
  if (address === undefined)
    throw new Error(`IP Address "${text}" parse error during conversion from string`)
  return formatIpAddress(address) === text
})
define('string', [[ip], string], (value: CelMap) => formatIpAddress(addressOf(value)))
method('family', [ip, [], int], (value: CelMap) => (addressOf(value).family === 'IPv4' ? 4n : 6n))
method('isUnspecified', [ip, [], bool], isIn('0.0.0.0/32', '::/128'))
method('isLoopback', [ip, [], bool], isIn('127.0.0.0/8', '::1/128'))
method('isLinkLocalMulticast', [ip, [], bool], isIn('224.0.0.0/24', 'ff02::/16'))
method('isLinkLocalUnicast', [ip, [], bool], isIn('169.254.0.0/16', 'fe80::/10'))
const isNotGlobal = isIn(
  '0.0.0.0/32',
  '::/128',
  '127.0.0.0/8',
  '::1/128',
  '224.0.0.0/4',
  'ff00::/8',
  '169.254.0.0/16',
  'fe80::/10',
  '255.255.255.255/32',
)
method('isGlobalUnicast', [ip, [], bool], (value: CelMap) => !isNotGlobal(value))

define('cidr', [[string], cidr], (text: string) => {
  if (strictRange(text) === undefined)
    throw new Error(`network address parse error during conversion from string: ${text}`)
  return box(cidr, text)
})
define('isCIDR', [[string], bool], (text: string) => strictRange(text) !== undefined)
method('containsIP', [cidr, [ip], bool], (range: CelMap, address: CelMap) =>
  rangeContains(rangeOf(range), addressOf(address)),
)
method('containsIP', [cidr, [string], bool], (range: CelMap, text: string) => {
  const address = strictAddress(text)
  if (address === undefined)
    throw new Error(`IP Address "${text}" parse error during conversion from string`)
  return rangeContains(rangeOf(range), address)
})
const containsRange = (outer: IpRange, inner: IpRange | undefined): boolean =>
  inner !== undefined &&
  inner.prefixLength >= outer.prefixLength &&
  rangeContains(outer, { family: inner.family, value: inner.base })
method('containsCIDR', [cidr, [cidr], bool], (outer: CelMap, inner: CelMap) =>
  containsRange(rangeOf(outer), rangeOf(inner)),
)
method('containsCIDR', [cidr, [string], bool], (outer: CelMap, inner: string) =>
  containsRange(rangeOf(outer), strictRange(inner)),
)
method('ip', [cidr, [], ip], (range: CelMap) => box(ip, unbox(cidr, range).split('/')[0] ?? ''))
method('masked', [cidr, [], cidr], (range: CelMap) => {
  const { family, base, prefixLength } = rangeOf(range)
  return box(cidr, `${formatIpAddress({ family, value: base })}/${prefixLength}`)
})
method('prefixLength', [cidr, [], int], (range: CelMap) =>
  BigInt(Math.min(rangeOf(range).prefixLength, bitsOf(rangeOf(range)))),
)

/** These functions. */
export const celLibrary: Library = library
