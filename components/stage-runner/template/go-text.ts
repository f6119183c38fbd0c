/** Values as Go's fmt prints them. */
import { isMapping } from './values.ts'

/** `%v`. A missing value of a template is `<no value>`. */
export function goText(value: unknown): string {
  if (value === undefined || value === null) return '<no value>'
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (!isMapping(value)) return String(value as string | number | boolean)
  const fields = Object.keys(value)
    .toSorted()
    .map((key) => `${key}:${goText(value[key])}`)
  return `map[${fields.join(' ')}]`
}

function padded(text: string, flags: string, width: string): string {
  const size = Math.min(Number(width === '' ? 0 : width), 1000)
  if (flags.includes('-')) return text.padEnd(size)
  return text.padStart(size, flags.includes('0') ? '0' : ' ')
}

function formatted(verb: string, precision: string, value: unknown): string {
  const number = typeof value === 'number' ? value : Number.NaN
  const digits = precision === '' ? undefined : Math.min(Number(precision.slice(1)), 100)
  switch (verb) {
    case 'q':
      return JSON.stringify(goText(value))
    case 'd':
      return Number.isInteger(number) ? String(number) : `%!d(${goText(value)})`
    case 'x':
    case 'X': {
      const hex = Number.isInteger(number)
        ? number.toString(16)
        : Buffer.from(goText(value)).toString('hex')
      return verb === 'X' ? hex.toUpperCase() : hex
    }
    case 'f':
      return Number.isNaN(number) ? `%!f(${goText(value)})` : number.toFixed(digits ?? 6)
    case 'e':
      return Number.isNaN(number) ? `%!e(${goText(value)})` : number.toExponential(digits ?? 6)
    case 't':
      return typeof value === 'boolean' ? String(value) : `%!t(${goText(value)})`
    case 'T':
      return typeof value
    default:
      return digits === undefined ? goText(value) : goText(value).slice(0, digits)
  }
}

/** Go's Sprintf, for the verbs v, s, d, q, x, f, g, e, t and T. */
export function goFormat(format: string, values: readonly unknown[]): string {
  let next = 0
  const text = format.replace(
    /%([-+# 0]*)(\d*)(\.\d+)?([a-zA-Z%])/g,
    (_, flags: string, width: string, precision: string | undefined, verb: string) => {
      if (verb === '%') return '%'
      if (next >= values.length) return `%!${verb}(MISSING)`
      const value = values[next]
      next += 1
      return padded(formatted(verb, precision ?? '', value), flags, width)
    },
  )
  if (next >= values.length) return text
  return `${text}%!(EXTRA ${values.slice(next).map(goText).join(', ')})`
}

/** Go's Sprint: a blank between two values of which neither is a text. */
export function goPrint(values: readonly unknown[]): string {
  return values.reduce<string>((text, value, index) => {
    const before = values[index - 1]
    const isApart = index > 0 && typeof value !== 'string' && typeof before !== 'string'
    return `${text}${isApart ? ' ' : ''}${goText(value)}`
  }, '')
}
