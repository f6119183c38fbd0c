/** Decimal 64-bit integers as Go's strconv reads them. */
import { goQuote } from './go-syntax.ts'

/** With or without a sign; undefined for anything else. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]{1,20}$/.test(text)) return undefined
  const value = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/** ParseUint's error about a text that is not an unsigned number; undefined for a valid one. */
export function uint64Fault(text: string): string | undefined {
  const why = !/^[0-9]+$/.test(text)
    ? 'invalid syntax'
    : text.length > 20 || BigInt.asUintN(64, BigInt(text)) !== BigInt(text)
      ? 'value out of range'
      : undefined
  return why && `strconv.ParseUint: parsing ${goQuote(text)}: ${why}`
}
