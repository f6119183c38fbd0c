/** The functions of sprig that templates of Stages use most: texts, lists, mappings, numbers and defaults. */
import { createHash } from 'node:crypto'
import { goText } from './go-text.ts'
import type { TemplateFunctions } from './template-functions.ts'
import { isMapping, isTrue } from './values.ts'

/** Characters of a text, and items of a list, that a function makes. */
const most = 100_000

const textOf = (value: unknown): string =>
  value === undefined || value === null ? '' : goText(value)

function numberOf(value: unknown): number {
  if (typeof value === 'boolean') return value ? 1 : 0
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : 0
}
const wholeOf = (value: unknown): number => Math.trunc(numberOf(value))

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw new Error(`${goText(value)} is not a list`)
}

function mappingOf(value: unknown): Readonly<Record<string, unknown>> {
  if (isMapping(value)) return value
  throw new Error(`${textOf(value)} is not a mapping`)
}

function repeated(count: unknown, text: unknown): string {
  const times = Math.max(0, wholeOf(count))
  if (times * textOf(text).length > most) throw new Error(`a text has ${most} characters at most`)
  return textOf(text).repeat(times)
}

function counted(size: unknown): number[] {
  const length = wholeOf(size)
  if (length > most) throw new Error(`a list has ${most} items at most`)
  return Array.from({ length: Math.max(0, length) }, (_, index) => index)
}

function indented(width: unknown, text: unknown): string {
  const blanks = repeated(width, ' ')
  const lines = textOf(text).split('\n')
  if (blanks.length * lines.length > most) throw new Error(`a text has ${most} characters at most`)
  return lines.map((line) => blanks + line).join('\n')
}

const divided = (by: number, divide: () => number): number => {
  if (by === 0) throw new Error('division by zero')
  return divide()
}

const texts: TemplateFunctions = {
  quote: (...values) => values.map((value) => JSON.stringify(textOf(value))).join(' '),
  squote: (...values) => values.map((value) => `'${textOf(value)}'`).join(' '),
  upper: (text) => textOf(text).toUpperCase(),
  lower: (text) => textOf(text).toLowerCase(),
  trim: (text) => textOf(text).trim(),
  trimPrefix: (prefix, text) =>
    textOf(text).startsWith(textOf(prefix))
      ? textOf(text).slice(textOf(prefix).length)
      : textOf(text),
  trimSuffix: (suffix, text) =>
    suffix !== '' && textOf(text).endsWith(textOf(suffix))
      ? textOf(text).slice(0, -textOf(suffix).length)
      : textOf(text),
  replace: (old, made, text) => {
    const parts = textOf(text).split(textOf(old))
    if (parts.length * textOf(made).length > most)
      throw new Error(`a text has ${most} characters at most`)
    return parts.join(textOf(made))
  },
  contains: (part, text) => textOf(text).includes(textOf(part)),
  hasPrefix: (prefix, text) => textOf(text).startsWith(textOf(prefix)),
  hasSuffix: (suffix, text) => textOf(text).endsWith(textOf(suffix)),
  repeat: (count, text) => repeated(count, text),
  indent: (width, text) => indented(width, text),
  nindent: (width, text) => `\n${indented(width, text)}`,
  trunc: (size, text) =>
    wholeOf(size) < 0 ? textOf(text).slice(wholeOf(size)) : textOf(text).slice(0, wholeOf(size)),
  join: (separator, list) =>
    Array.isArray(list) ? list.map(textOf).join(textOf(separator)) : textOf(list),
  splitList: (separator, text) => textOf(text).split(textOf(separator)),
  toString: (value: unknown) => textOf(value),
  toJson: (value) => JSON.stringify(value ?? null),
  fromJson: (text) => JSON.parse(textOf(text)) as unknown,
  b64enc: (text) => Buffer.from(textOf(text)).toString('base64'),
  b64dec: (text) => Buffer.from(textOf(text), 'base64').toString(),
  sha256sum: (text) => createHash('sha256').update(textOf(text)).digest('hex'),
}

const choices: TemplateFunctions = {
  default: (otherwise, value) => (isTrue(value) ? value : otherwise),
  empty: (value) => !isTrue(value),
  coalesce: (...values) => values.find(isTrue),
  ternary: (whenTrue, whenFalse, condition) => (isTrue(condition) ? whenTrue : whenFalse),
}

const collections: TemplateFunctions = {
  list: (...values) => values,
  dict: (...pairs) =>
    Object.fromEntries(
      Array.from({ length: Math.ceil(pairs.length / 2) }, (_, index) => [
        textOf(pairs[index * 2]),
        pairs[index * 2 + 1] ?? '',
      ]),
    ),
  get: (mapping, key) => {
    const fields = mappingOf(mapping)
    return Object.hasOwn(fields, textOf(key)) ? fields[textOf(key)] : ''
  },
  hasKey: (mapping, key) => Object.hasOwn(mappingOf(mapping), textOf(key)),
  keys: (...mappings) => mappings.flatMap((mapping) => Object.keys(mappingOf(mapping)).toSorted()),
  first: (list) => listOf(list)[0],
  last: (list) => listOf(list).at(-1),
  rest: (list) => listOf(list).slice(1),
  append: (list, value) => [...listOf(list), value],
  has: (value, list) => listOf(list).includes(value),
  uniq: (list) => [...new Set(listOf(list))],
  sortAlpha: (list) => listOf(list).map(textOf).toSorted(),
  until: (count) => counted(count),
}

const numbers: TemplateFunctions = {
  int: (value) => wholeOf(value),
  int64: (value) => wholeOf(value),
  float64: (value) => numberOf(value),
  add: (...values) => values.reduce<number>((sum, value) => sum + wholeOf(value), 0),
  add1: (value) => wholeOf(value) + 1,
  sub: (one, other) => wholeOf(one) - wholeOf(other),
  mul: (...values) => values.reduce<number>((product, value) => product * wholeOf(value), 1),
  div: (one, other) => divided(wholeOf(other), () => Math.trunc(wholeOf(one) / wholeOf(other))),
  mod: (one, other) => divided(wholeOf(other), () => wholeOf(one) % wholeOf(other)),
  max: (...values) => Math.max(...values.map(wholeOf)),
  min: (...values) => Math.min(...values.map(wholeOf)),
}

export const sprigFunctions: TemplateFunctions = {
  ...texts,
  ...choices,
  ...collections,
  ...numbers,
}
