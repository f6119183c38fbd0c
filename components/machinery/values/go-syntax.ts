/** Go's printing of values, which upstream's error messages carry: %q for strings, %#v for the rest. */

/** A text that goes into a message as it is, because it is printed already. */
export class GoText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A bad value as error messages show it. */
export type GoValue = string | number | boolean | null | undefined | GoText

const shortEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}

// Go prints graphic characters as they are; of the spaces only U+0020.
const needsEscape = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

function escapeRune(rune: string): string {
  const short = shortEscapes[rune]
  if (short !== undefined) return short
  const code = rune.codePointAt(0) ?? 0
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`
  if (code < 0x1_0000) return `\\u${code.toString(16).padStart(4, '0')}`
  return `\\U${code.toString(16).padStart(8, '0')}`
}

/** `strconv.Quote`. */
export function goQuote(text: string): string {
  return `"${text.replaceAll(needsEscape, escapeRune)}"`
}

/** `%v` of a number from JSON: `80`, `0.5`, `1e-05`, `1.2345675e+06`. */
export function goNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return String(value)
  const [digits, power] = value.toExponential().split('e')
  const exponent = Number(power)
  if (exponent >= -4 && exponent < 6) return String(value)
  const sign = exponent < 0 ? '-' : '+'
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** The value as field errors show it: absent values are the quoted word null, as upstream. */
export function goValue(value: GoValue): string {
  if (value instanceof GoText) return value.text
  if (value === null || value === undefined) return '"null"'
  return typeof value === 'string' ? goQuote(value) : String(value)
}

/** `%#v` of a value inside a struct or a list; plain objects are not taken: print them with goStruct. */
function goSyntax(value: GoValue): string {
  if (value === null || value === undefined) return 'nil'
  return goValue(value)
}

/** `[]string{"a", "b"}`, `[]core.Port(nil)` for an absent list. */
export function goList(
  list: readonly GoValue[] | undefined | null,
  elementType = 'string',
): GoText {
  if (!list) return new GoText(`[]${elementType}(nil)`)
  return new GoText(`[]${elementType}{${list.map(goSyntax).join(', ')}}`)
}

/** `map[string]string{"a":"b"}` with sorted keys, `map[string]string(nil)` when absent. */
export function goStringMap(map: Readonly<Record<string, string>> | undefined | null): GoText {
  if (!map) return new GoText('map[string]string(nil)')
  const entries = Object.keys(map)
    .toSorted()
    .map((key) => `${goQuote(key)}:${goQuote(map[key] ?? '')}`)
  return new GoText(`map[string]string{${entries.join(', ')}}`)
}

/** `[]byte{0x1, 0xff}` of base64 text. */
export function goBytes(base64: string | undefined | null): GoText {
  if (typeof base64 !== 'string') return new GoText('[]byte(nil)')
  const bytes = [...Buffer.from(base64, 'base64')].map((byte) => `0x${byte.toString(16)}`)
  return new GoText(`[]byte{${bytes.join(', ')}}`)
}

/** `rbac.RoleRef{Kind:"Role", Name:"x"}`: fields in the order of the Go struct, each with its zero value filled in. */
export function goStruct(type: string, fields: Readonly<Record<string, GoValue>>): GoText {
  const entries = Object.entries(fields).map(([name, value]) => `${name}:${goSyntax(value)}`)
  return new GoText(`${type}{${entries.join(', ')}}`)
}

/** `%+v` of a value from JSON: `map[a:1 b:[x <nil>]]`, keys sorted. */
export function goPrint(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (typeof value === 'number') return goNumber(value)
  if (typeof value === 'string') return value
  if (typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(goPrint).join(' ')}]`
  const fields = value as Readonly<Record<string, unknown>>
  const entries = Object.keys(fields).toSorted()
  return `map[${entries.map((name) => `${name}:${goPrint(fields[name])}`).join(' ')}]`
}
