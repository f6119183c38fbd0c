/** The compact notation of completion indexes: `1,3-5,7`. */
import { goQuote } from '../../../machinery/values/go-syntax.ts'

type Interval = readonly [first: number, last: number]

interface Parsed<T> {
  readonly fault?: string
  readonly value: T
}

function parseIndex(text: string, completions: number): Parsed<number> {
  if (!/^[+-]?[0-9]+$/.test(text)) {
    return { fault: `cannot convert string to integer for index: ${goQuote(text)}`, value: 0 }
  }
  const value = Number(text)
  if (value >= completions) return { fault: `too large index: ${goQuote(text)}`, value }
  return { value }
}

function parseInterval(text: string, completions: number): Parsed<Interval> {
  const parts = text.split('-')
  const none: Interval = [0, 0]
  if (parts.length > 2) {
    return {
      fault: `the fragment ${goQuote(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
      value: none,
    }
  }
  const first = parseIndex(parts[0] ?? '', completions)
  if (first.fault !== undefined) return { fault: first.fault, value: none }
  if (parts.length === 1) return { value: [first.value, first.value] }
  const last = parseIndex(parts[1] ?? '', completions)
  if (last.fault !== undefined) return { fault: last.fault, value: none }
  if (first.value >= last.value) {
    const fault = `non-increasing order, previous: ${first.value}, current: ${last.value}`
    return { fault, value: none }
  }
  return { value: [first.value, last.value] }
}

/** How many indexes the text names, or what is wrong with it. */
export function countIndexes(
  text: string,
  completions: number,
): { readonly count: number; readonly fault?: string } {
  let count = 0
  let previous: number | undefined
  for (const part of text === '' ? [] : text.split(',')) {
    const { fault, value } = parseInterval(part, completions)
    if (fault !== undefined) return { count: 0, fault }
    const [first, last] = value
    if (previous !== undefined && previous >= first) {
      const order = `non-increasing order, previous: ${previous}, current: ${first}`
      return { count: 0, fault: order }
    }
    count += last - first + 1
    previous = last
  }
  return { count }
}

/** The first index both texts name; parts that cannot be read are left out. */
export function sharedIndex(a: string, b: string, completions: number): number | undefined {
  const intervalsOf = (text: string) =>
    text
      .split(',')
      .map((part) => parseInterval(part, completions))
      .filter(({ fault }) => fault === undefined)
      .map(({ value }) => value)
  const others = intervalsOf(b)
  for (const [first, last] of intervalsOf(a)) {
    const hit = others.find(([from, to]) => first <= to && from <= last)
    if (hit !== undefined) return Math.max(first, hit[0])
  }
  return undefined
}
