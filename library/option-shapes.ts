/** Shapes of options in code: the language of `cluster/shape.ts`, without variables, and with undefined for what is not given. */
import { nearestName } from '../components/component-base/flags.ts'
import { found, plain } from '../cluster/shape.ts'
import type { Issue, ObjectOf, Optional, Shape } from '../cluster/shape.ts'
import { pathText } from '../cluster/path.ts'
import { durationForm, durationMs } from './duration.ts'
import { OptionError } from './option-error.ts'

/** The checked value. Throws an OptionError; each of its lines begins with `door`, the function that was called. */
export function checkedBy<T>(shape: Shape<T>, door: string, value: unknown): T {
  const issues: Issue[] = []
  const checked = shape.check(value, [], issues)
  if (issues.length === 0) return checked
  throw new OptionError(
    issues.map(({ path, message }) => {
      const option = pathText(path)
      return `${door}: ${option === '' ? '' : `${option} `}${message}`
    }),
  )
}

/** The name that `Object.prototype.toString` gives: test runners have globals of their own, so that `instanceof` does not tell. */
const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const text = plain('a string', (value) => (typeof value === 'string' ? value : undefined))
export const word = plain('a string that is not empty', (value) =>
  typeof value === 'string' && value !== '' ? value : undefined,
)
export const flag = plain('true or false', (value) =>
  typeof value === 'boolean' ? value : undefined,
)
export const duration = plain(durationForm, durationMs)
/** Timestamps of the API have years of four digits, and certificates end with the year 9999. */
const lastDateMs = Date.UTC(9000, 0)
export const date = plain('a Date between 1970 and 9000', (value) => {
  const ms = tagOf(value) === 'Date' ? (value as Date).getTime() : Number.NaN
  return ms >= 0 && ms <= lastDateMs ? (value as Date) : undefined
})
export const signal = plain('an AbortSignal', (value) =>
  tagOf(value) === 'AbortSignal' ? (value as AbortSignal) : undefined,
)
/** Any object; what is in it is for the server to judge. */
export const anyObject = {
  ...plain('an object', (value) => (isObject(value) ? value : undefined)),
  fields: {},
}

export function whole(min: number, max: number): Shape<number> {
  return plain(`a whole number from ${min} to ${max}`, (value) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? (value as number)
      : undefined,
  )
}

export function oneOf<const C extends string>(...choices: readonly C[]): Shape<C> {
  return plain(`one of ${choices.join(', ')}`, (value) => choices.find((one) => one === value))
}

const notA = (what: string, value: unknown, path: Issue['path']): Issue => ({
  path,
  message: `must be ${what}, not ${found(value)}`,
})

/** Text that `read` can parse; its error is the message. */
export function parsable(what: string, read: (text: string) => unknown): Shape<string> {
  return {
    ...word,
    what,
    check: (value, path, issues) => {
      if (typeof value !== 'string' || value === '') {
        issues.push(notA(what, value, path))
        return ''
      }
      try {
        read(value)
      } catch (error) {
        issues.push({ path, message: `cannot be read: ${(error as Error).message}` })
      }
      return value
    },
  }
}

/** A list that `what` names: `a list of nodes`. */
export function listOf<T>(what: string, item: Shape<T>): Shape<T[]> {
  return {
    what,
    schema: {},
    check: (value, path, issues) => {
      if (Array.isArray(value))
        return value.map((one: unknown, index) => item.check(one, [...path, index], issues))
      issues.push(notA(what, value, path))
      return []
    },
  }
}

/** The list with one item at least. */
export function notEmpty<T>(list: Shape<T[]>): Shape<T[]> {
  const what = `${list.what}, one at least`
  return {
    ...list,
    what,
    check: (value, path, issues) => {
      const items = list.check(value, path, issues)
      if (Array.isArray(value) && items.length === 0)
        issues.push({ path, message: `must be ${what}, not empty` })
      return items
    },
  }
}

/** An object with any names, which `isName` may refuse. */
export function dictionary<T>(
  what: string,
  item: Shape<T>,
  isName: (name: string) => boolean = () => true,
): Shape<Record<string, T>> {
  return {
    what,
    schema: {},
    check: (value, path, issues) => {
      if (!isObject(value)) {
        issues.push(notA(what, value, path))
        return {}
      }
      const entries = Object.entries(value).filter(([, one]) => one !== undefined)
      return Object.fromEntries(
        entries.map(([name, one]) => {
          const at = [...path, name]
          if (!isName(name)) issues.push({ path: at, message: `cannot be a name in ${what}` })
          return [name, item.check(one, at, issues)]
        }),
      )
    },
  }
}

/** Values of JavaScript's type `simpleType` by one shape, lists or objects by another. */
export function either<A, B>(
  simpleType: 'string' | 'number',
  simple: Shape<A>,
  other: Shape<B>,
): Shape<A | B> {
  const what = `${simple.what} or ${other.what}`
  const isOther = (value: unknown): boolean =>
    other.fields === undefined ? Array.isArray(value) : isObject(value)
  return {
    what,
    schema: {},
    check: (value, path, issues) => {
      if (isOther(value)) return other.check(value, path, issues)
      if (typeof value === simpleType) return simple.check(value, path, issues)
      issues.push(notA(what, value, path))
      return undefined as A
    },
  }
}

type Fields = Readonly<Record<string, Shape<unknown> | Optional<unknown>>>

/** An object with exactly these fields. `also` adds issues about several of them together, once each one is right. */
export function options<F extends Fields>(
  what: string,
  fields: F,
  also: (checked: ObjectOf<F>, fault: (field: string, message: string) => void) => void = () => {},
): Shape<ObjectOf<F>> {
  const names = Object.keys(fields)
  return {
    what,
    schema: {},
    fields,
    check: (value, path, issues) => {
      if (!isObject(value)) {
        const message = `must be ${what} with ${names.join(', ')}, not ${found(value)}`
        issues.push({ path, message })
        return {} as ObjectOf<F>
      }
      const before = issues.length
      const fault = (field: string, message: string): void =>
        void issues.push({ path: [...path, field], message })
      for (const [name, one] of Object.entries(value)) {
        if (one !== undefined && !Object.hasOwn(fields, name))
          fault(name, `is not an option; ${hintFor(name, names)}`)
      }
      const checked: Record<string, unknown> = {}
      for (const [name, shape] of Object.entries(fields)) {
        // Inherited ones count: options may be an instance of a class.
        const one = value[name]
        if (one !== undefined) checked[name] = shape.check(one, [...path, name], issues)
        else if (!('isOptional' in shape)) fault(name, `is missing: it must be ${shape.what}`)
      }
      if (issues.length === before) also(checked as ObjectOf<F>, fault)
      return checked as ObjectOf<F>
    },
  }
}

function hintFor(name: string, names: readonly string[]): string {
  const nearest = nearestName(name, names)
  return nearest === undefined ? `known are ${names.join(', ')}` : `did you mean ${nearest}?`
}
