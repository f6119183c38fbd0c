/** Functions that Go's text/template has by itself. `and` and `or` are the interpreter's, which evaluates only what it needs. */
import { goFormat, goPrint, goText } from './go-text.ts'
import { isMapping, isTrue, itemAt } from './values.ts'

/** Gets its arguments in order, the result of a pipeline last. Throws an Error for wrong ones. */
export type TemplateFunction = (...args: readonly unknown[]) => unknown
export type TemplateFunctions = Readonly<Record<string, TemplateFunction>>

const kindOf = (value: unknown): string =>
  value === undefined || value === null ? 'nothing' : typeof value

function isEqual(one: unknown, other: unknown): boolean {
  const kinds = [kindOf(one), kindOf(other)]
  if (kinds.includes('nothing')) return kinds[0] === kinds[1]
  if (kinds.includes('object')) throw new Error('lists and mappings cannot be compared')
  if (kinds[0] !== kinds[1]) throw new Error(`a ${kinds.join(' and a ')} cannot be compared`)
  return one === other
}

function isLess(one: unknown, other: unknown): boolean {
  const isNumbers = typeof one === 'number' && typeof other === 'number'
  if (isNumbers || (typeof one === 'string' && typeof other === 'string')) return one < other
  throw new Error(`a ${kindOf(one)} and a ${kindOf(other)} have no order`)
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (Array.isArray(value)) return value.length
  if (isMapping(value)) return Object.keys(value).length
  throw new Error(`len of a ${kindOf(value)}`)
}

function partOf(value: unknown, from: unknown = 0, to?: unknown): unknown {
  if (typeof value !== 'string' && !Array.isArray(value))
    throw new Error(`slice of a ${kindOf(value)}`)
  const end = to ?? value.length
  if (typeof from !== 'number' || typeof end !== 'number' || from > end || end > value.length)
    throw new Error(`slice ${goText(from)} to ${goText(end)} is out of range`)
  return value.slice(from, end)
}

export const templateFunctions: TemplateFunctions = {
  not: (value) => !isTrue(value),
  eq: (first, ...others) => {
    if (others.length === 0) throw new Error('eq needs two values')
    return others.some((other) => isEqual(first, other))
  },
  ne: (one, other) => !isEqual(one, other),
  lt: (one, other) => isLess(one, other),
  le: (one, other) => isLess(one, other) || isEqual(one, other),
  gt: (one, other) => isLess(other, one),
  ge: (one, other) => isLess(other, one) || isEqual(one, other),
  len: (value) => sizeOf(value),
  index: (value, ...keys) => keys.reduce(itemAt, value),
  slice: (value, from, to) => partOf(value, from, to),
  print: (...values) => goPrint(values),
  printf: (format, ...values) => goFormat(goText(format), values),
  println: (...values) => `${values.map(goText).join(' ')}\n`,
}
