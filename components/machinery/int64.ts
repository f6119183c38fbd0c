/** A decimal 64-bit integer as Go's strconv.ParseInt reads it, with or without a sign; undefined for anything else. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]{1,20}$/.test(text)) return undefined
  const value = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, value) === value ? value : undefined
}
