/** Quantity: amounts such as `100m`, `1.5Gi`, `1e3`; exact to one nano-unit (upstream: apimachinery pkg/api/resource). */

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent'

/** An amount and the suffix family it is written in. */
export interface Quantity {
  readonly nanos: bigint
  readonly format: QuantityFormat
}

export const quantityErrors = {
  format:
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  suffix: "unable to parse quantity's suffix",
  number: 'unable to parse numeric part of quantity',
} as const

/** A text that is no quantity; the message is upstream's. */
export class QuantityError extends Error {}

const NANO = 1_000_000_000n
const MAX = (1n << 63n) - 1n

/** Each part starts with what the one before cannot hold, so that no input makes the match slow. */
const wellFormed = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?)$/

const decimalSuffixes: readonly string[] = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

const parsed = new Map<string, Quantity>()
/** The same few amounts come again and again; what clients make up must not fill the memory. */
const mostParsed = 1024

/** Parses a quantity; throws QuantityError. Finer than a nano rounds away from zero, too large is capped at 2^63-1. */
export function parseQuantity(text: string): Quantity {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const quantity = parseText(text)
  if (parsed.size >= mostParsed) parsed.clear()
  parsed.set(text, quantity)
  return quantity
}

function parseText(text: string): Quantity {
  if (text === '' || text.length > 1024) throw new QuantityError(quantityErrors.format)
  const parts = wellFormed.exec(text)
  if (parts === null) throw new QuantityError(quantityErrors.format)
  const [, sign = '', whole = '', fraction = '', suffix = ''] = parts
  const { format, base, exponent } = scaleOf(suffix)
  const digits = BigInt(whole + fraction === '' ? '0' : whole + fraction)
  const nanos = scale(digits, { base, exponent, places: fraction.length })
  const capped = nanos > MAX * NANO ? MAX * NANO : nanos
  return { nanos: sign === '-' ? -capped : capped, format }
}

/** The same amount as upstream writes it: no fraction, the largest suffix that keeps it whole. */
export function formatQuantity(quantity: Quantity): string {
  const { nanos } = quantity
  if (nanos === 0n) return '0'
  const isSmall = nanos < 1024n * NANO && nanos > -1024n * NANO
  if (quantity.format === 'BinarySI' && !isSmall && nanos % NANO === 0n) return formatBinary(nanos)
  let mantissa = nanos
  let step = 0
  while (step < decimalSuffixes.length - 1 && mantissa % 1000n === 0n) {
    mantissa /= 1000n
    step += 1
  }
  if (quantity.format !== 'DecimalExponent') return `${mantissa}${decimalSuffixes[step]}`
  return step === 3 ? `${mantissa}` : `${mantissa}e${(step - 3) * 3}`
}

const canonical = new Map<string, string>()

/** Canonical text of a quantity's text; throws QuantityError. */
export function canonicalQuantity(text: string): string {
  // Below 1000 no larger suffix keeps it whole, and below exa nothing is capped.
  if (text === '0' || /^[1-9][0-9]{0,2}(?:[numkMGTP]|[KMGTP]i)?$/.test(text)) return text
  const known = canonical.get(text)
  if (known !== undefined) return known
  const result = formatQuantity(parseQuantity(text))
  if (canonical.size >= 4096) canonical.clear()
  if (text.length <= 32) canonical.set(text, result)
  return result
}

/** Below, at or above 0 as `a` is smaller than, equal to or larger than `b`. Throws QuantityError. */
export function compareQuantities(a: string, b: string): -1 | 0 | 1 {
  const left = parseQuantity(a).nanos
  const right = parseQuantity(b).nanos
  return left < right ? -1 : left > right ? 1 : 0
}

/** The sum, in the format of the first unless that is zero. Throws QuantityError. */
export function addQuantities(a: string, b: string): string {
  return combine(parseQuantity(a), parseQuantity(b), 1n)
}

/** The difference, in the format of the first unless that is zero. Throws QuantityError. */
export function subtractQuantities(a: string, b: string): string {
  return combine(parseQuantity(a), parseQuantity(b), -1n)
}

function combine(a: Quantity, b: Quantity, sign: bigint): string {
  const format = a.nanos === 0n ? b.format : a.format
  return formatQuantity({ nanos: a.nanos + sign * b.nanos, format })
}

/** Whole units, rounded up. Throws QuantityError. */
export function quantityValue(text: string): number {
  return Number(ceilDiv(parseQuantity(text).nanos, NANO))
}

/** Thousandths, rounded up: how CPU is counted. Throws QuantityError. */
export function quantityMilliValue(text: string): number {
  return Number(ceilDiv(parseQuantity(text).nanos, 1_000_000n))
}

function scaleOf(suffix: string): { format: QuantityFormat; base: 2 | 10; exponent: number } {
  const decimal = decimalSuffixes.indexOf(suffix)
  if (decimal >= 0) return { format: 'DecimalSI', base: 10, exponent: (decimal - 3) * 3 }
  const binary = binarySuffixes.indexOf(suffix)
  if (binary > 0) return { format: 'BinarySI', base: 2, exponent: binary * 10 }
  if (!/^[eE][-+]?[0-9]+$/.test(suffix)) throw new QuantityError(quantityErrors.suffix)
  // Beyond these every quantity is zero or the cap, for any digits that fit in a body.
  const exponent = Math.max(-1_000_000, Math.min(1_000_000, Number(suffix.slice(1))))
  return { format: 'DecimalExponent', base: 10, exponent }
}

/** `digits * base^exponent / 10^places` in nanos, rounded up; sizes bounded so that no input makes a huge number. */
function scale(digits: bigint, by: { base: 2 | 10; exponent: number; places: number }): bigint {
  if (digits === 0n) return 0n
  if (by.base === 2)
    return ceilDiv(digits * (1n << BigInt(by.exponent)) * NANO, 10n ** BigInt(by.places))
  const power = by.exponent + 9 - by.places
  if (power >= 0) return power > 40 ? MAX * NANO + 1n : digits * 10n ** BigInt(power)
  const length = digits.toString().length
  return -power > length ? 1n : ceilDiv(digits, 10n ** BigInt(-power))
}

function ceilDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by
  return value % by > 0n ? quotient + 1n : quotient
}

function formatBinary(nanos: bigint): string {
  let mantissa = nanos / NANO
  let step = 0
  while (step < binarySuffixes.length - 1 && mantissa % 1024n === 0n) {
    mantissa /= 1024n
    step += 1
  }
  return `${mantissa}${binarySuffixes[step]}`
}
