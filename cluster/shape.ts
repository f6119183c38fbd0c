/** Shapes: declarations of a user's values, in a scenario file or a fault. Checking a value against a shape returns typed data or a list of issues. */
import { nearestName } from '../components/component-base/flags.ts'
import { brief } from '../components/machinery/objects/differences.ts'
import { durationOf, durationPattern } from './duration.ts'
import { pathText } from './path.ts'
import type { Path } from './path.ts'

export interface Issue {
  readonly path: Path
  readonly message: string
}

/** A JSON Schema of draft 7, which editors support best. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Checks a value. For an invalid value it adds to `issues`; callers must then ignore the result. */
export interface Shape<T> {
  /** The noun in messages: `a string`. */
  readonly what: string
  /** Accepts the values that `check` accepts, as far as JSON Schema can express it. */
  readonly schema: JsonSchema
  /** For documentation: fields of an object shape. */
  readonly fields?: Readonly<Record<string, Shape<unknown>>>
  check(value: unknown, path: Path, issues: Issue[]): T
}

export type ShapeType<S> = S extends Shape<infer T> ? T : never

/** The value in a message; long text is cut. */
export function found(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (typeof value === 'function') return 'a function'
  return typeof value === 'string' ? brief(JSON.stringify(value), 80) : `${value as number}`
}

const reference = /\$\{[^}]*\}/
const isReference = (value: unknown): value is string =>
  typeof value === 'string' && /^\$\{[^}]*\}$/.test(value)

/**
 * A value with a variable, in place of the final value: it is resolved and checked when its step runs. Titles show its source
 * text.
 */
export class Deferred {
  readonly text: string
  readonly shape: Shape<unknown>
  readonly path: Path
  constructor(value: { text: string; shape: Shape<unknown>; path: Path }) {
    this.text = value.text
    this.shape = value.shape
    this.path = value.path
  }

  toString(): string {
    return this.text
  }

  /** Checks the resolved value against the shape. Throws an error that names the place in the file. */
  with(resolved: unknown): unknown {
    const issues: Issue[] = []
    const value = this.shape.check(resolved, this.path, issues)
    // A value with the look of a variable: values are not resolved again.
    if (value instanceof Deferred)
      issues.push({
        path: this.path,
        message: `must be ${this.shape.what}, not ${found(resolved)}`,
      })
    const [issue] = issues
    if (issue === undefined) return value
    throw new Error(`${pathText(issue.path)}: ${this.text} ${issue.message}`)
  }
}

/** Every deferred value inside a checked value. */
export function deferredIn(value: unknown): Deferred[] {
  if (value instanceof Deferred) return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(deferredIn) : []
}

/** A duration in a title; a deferred one is shown as source text. */
export function secondsText(ms: number): string {
  return typeof ms === 'number' ? `${ms / 1000} s` : String(ms)
}

/** A string with a variable, in place of another value. */
const variableSchema: JsonSchema = { type: 'string', pattern: reference.source }

/** The same schema where no variables are allowed. */
export function withoutVariables(schema: JsonSchema): JsonSchema {
  const strip = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.filter((one) => one !== variableSchema).map(strip)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, strip(one)]))
  }
  return strip(schema) as JsonSchema
}

function simple<T>(
  what: string,
  schema: JsonSchema,
  test: (value: unknown) => T | undefined,
): Shape<T> {
  const shape: Shape<T> = {
    what,
    schema,
    check: (value, path, issues) => {
      const result = test(value)
      const isText = typeof result === 'string' && !isReference(value)
      if (!isText && typeof value === 'string' && reference.test(value))
        return new Deferred({ text: value, shape, path }) as T
      if (result === undefined)
        issues.push({ path, message: `must be ${what}, not ${found(value)}` })
      return result as T
    },
  }
  return shape
}

/** A value that has no variables and no JSON Schema: for options in code. `test` gives undefined for an invalid value. */
export function plain<T>(what: string, test: (value: unknown) => T | undefined): Shape<T> {
  return {
    what,
    schema: {},
    check: (value, path, issues) => {
      const result = test(value)
      if (result === undefined)
        issues.push({ path, message: `must be ${what}, not ${found(value)}` })
      return result as T
    },
  }
}

const orVariable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, variableSchema] })
const text: JsonSchema = { type: ['string', 'number'] }

export const string: Shape<string> = simple('a string', text, (value) =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined,
)
/** A word on a command line, or a value behind a flag. */
export const scalar: Shape<string> = simple(
  'a string, a number, true or false',
  { type: ['string', 'number', 'boolean'] },
  (value) => (['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined),
)
export const boolean: Shape<boolean> = simple(
  'true or false',
  orVariable({ type: 'boolean' }),
  (value) => (typeof value === 'boolean' ? value : undefined),
)
export const integer: Shape<number> = simple(
  'a whole number',
  orVariable({ type: 'integer' }),
  (value) => (Number.isInteger(value) ? (value as number) : undefined),
)
/** A count, from 0. */
export const count: Shape<number> = simple(
  'a whole number from 0 on',
  orVariable({ type: 'integer', minimum: 0 }),
  (value) => (Number.isInteger(value) && (value as number) >= 0 ? (value as number) : undefined),
)
const asDuration = (value: unknown): number | undefined =>
  typeof value === 'string' ? durationOf(value) : undefined
/** `4s`, `1m30s`, `200ms`, `7d`; in milliseconds. */
export const duration: Shape<number> = simple(
  'a duration such as 4s, 200ms or 7d',
  orVariable({ type: 'string', pattern: `^[+]?${durationPattern}` }),
  (value) => {
    const ms = asDuration(value)
    return ms === undefined || ms < 0 ? undefined : ms
  },
)
/** A duration that can be negative: `-1h`. */
export const signedDuration: Shape<number> = simple(
  'a duration such as 4s or -1h',
  orVariable({ type: 'string', pattern: `^[+-]?${durationPattern}` }),
  asDuration,
)

/**
 * A string that `read` can parse; an error of `read` becomes the issue. Variables are checked as a word of three letters, since
 * their values are not known yet; with `variables: 'unchecked'` a text with variables is not checked here.
 */
export function readable(
  what: string,
  read: (text: string) => unknown,
  { variables = 'word' }: { readonly variables?: 'word' | 'unchecked' } = {},
): Shape<string> {
  return {
    what,
    schema: text,
    check: (value, path, issues) => {
      const before = issues.length
      const text = string.check(value, path, issues)
      if (issues.length > before || typeof text !== 'string') return text
      if (variables === 'unchecked' && reference.test(text)) return text
      try {
        read(text.replaceAll(/\$\{[^}]*\}/g, 'var'))
      } catch (error) {
        issues.push({ path, message: (error as Error).message })
      }
      return text
    },
  }
}
export const regularExpression: Shape<string> = readable(
  'a regular expression',
  (text) => new RegExp(text),
)
/** Any JSON value. */
export const anything: Shape<unknown> = { what: 'any value', schema: {}, check: (value) => value }

export const mapping: Shape<Record<string, unknown>> = {
  what: 'a mapping',
  schema: { type: 'object' },
  check: (value, path, issues) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
    issues.push({ path, message: `must be a mapping, not ${found(value)}` })
    return {}
  },
}

/** An API object, as in a manifest. */
export const manifest: Shape<Record<string, unknown>> = {
  what: 'an object with kind and metadata',
  schema: { type: 'object', required: ['kind', 'metadata'] },
  check: (value, path, issues) => {
    const object = mapping.check(value, path, issues)
    for (const field of ['kind', 'metadata']) {
      if (object[field] === undefined) issues.push({ path, message: `the object has no ${field}` })
    }
    return object
  },
}

export function choice<const C extends string>(...choices: readonly C[]): Shape<C> {
  return simple(`one of ${choices.join(', ')}`, orVariable({ enum: choices }), (value) =>
    choices.find((one) => one === value),
  )
}

export function list<T>(item: Shape<T>): Shape<T[]> {
  return {
    what: `a list of ${item.what}`,
    schema: { type: 'array', items: item.schema },
    check: (value, path, issues) => {
      if (!Array.isArray(value)) {
        issues.push({ path, message: `must be a list, not ${found(value)}` })
        return []
      }
      return value.map((one: unknown, index) => item.check(one, [...path, index], issues))
    },
  }
}

/** One of them, or a list of them. */
export function oneOrMore<T>(item: Shape<T>): Shape<T[]> {
  const many = list(item)
  return {
    what: `${item.what}, or a list of them`,
    schema: { anyOf: [item.schema, many.schema] },
    check: (value, path, issues) =>
      Array.isArray(value) ? many.check(value, path, issues) : [item.check(value, path, issues)],
  }
}

/** A mapping with at least one of its fields. */
export function notEmpty<T extends object>(shape: Shape<T>): Shape<T> {
  return {
    ...shape,
    schema: { ...shape.schema, minProperties: 1 },
    check: (value, path, issues) => {
      const before = issues.length
      const checked = shape.check(value, path, issues)
      if (issues.length === before && Object.keys(checked).length === 0) {
        const names = Object.keys(shape.fields ?? {}).join(', ')
        issues.push({ path, message: `says nothing; it needs one of ${names}` })
      }
      return checked
    },
  }
}

/** A mapping with exactly one of these fields beside others. */
export function oneOf<T extends object>(
  names: readonly (keyof T & string)[],
  shape: Shape<T>,
): Shape<T> {
  const oneRequired = names.map((name) => ({ required: [name] }))
  return {
    ...shape,
    schema: { ...shape.schema, oneOf: oneRequired },
    check: (value, path, issues) => {
      const before = issues.length
      const checked = shape.check(value, path, issues)
      const given = names.filter((name) => checked[name] !== undefined)
      if (issues.length === before && given.length !== 1) {
        const has = given.length === 0 ? 'neither' : 'both'
        issues.push({ path, message: `needs one of ${names.join(', ')}, and has ${has}` })
      }
      return checked
    },
  }
}

export function record<T>(item: Shape<T>): Shape<Record<string, T>> {
  return {
    what: `a mapping to ${item.what}`,
    schema: { type: 'object', additionalProperties: item.schema },
    check: (value, path, issues) => {
      const entries = Object.entries(mapping.check(value, path, issues))
      return Object.fromEntries(
        entries.map(([key, one]) => [key, item.check(one, [...path, key], issues)]),
      )
    },
  }
}

/** The first shape that accepts the value. If no shape does, the issues are the first one's. */
export function either<A, B>(first: Shape<A>, second: Shape<B>): Shape<A | B> {
  const fields = second.fields ?? first.fields
  return {
    what: `${first.what}, or ${second.what}`,
    schema: { anyOf: [first.schema, second.schema] },
    ...(fields === undefined ? {} : { fields }),
    check: (value, path, issues) => {
      const ofFirst: Issue[] = []
      const one = first.check(value, path, ofFirst)
      if (ofFirst.length === 0) return one
      const ofSecond: Issue[] = []
      const other = second.check(value, path, ofSecond)
      if (ofSecond.length === 0) return other
      issues.push(...(typeof value === 'object' && value !== null ? ofSecond : ofFirst))
      return one
    },
  }
}

/** A field that can be omitted. */
export interface Optional<T> extends Shape<T | undefined> {
  readonly isOptional: true
}

export function optional<T>(shape: Shape<T>): Optional<T> {
  return { ...shape, isOptional: true }
}

/** The same shape with a description, which editors and the reference show. */
export function described<S extends Shape<unknown>>(description: string, shape: S): S {
  const { schema } = shape
  // Beside a $ref, draft 7 ignores everything.
  const named = '$ref' in schema ? { allOf: [schema] } : schema
  return { ...shape, schema: { ...named, description } }
}

type Fields = Readonly<Record<string, Shape<unknown> | Optional<unknown>>>
type OptionalKeys<F extends Fields> = {
  [K in keyof F]: F[K] extends { isOptional: true } ? K : never
}[keyof F]
export type ObjectOf<F extends Fields> = {
  readonly [K in Exclude<keyof F, OptionalKeys<F>>]: ShapeType<F[K]>
} & { readonly [K in OptionalKeys<F>]?: Exclude<ShapeType<F[K]>, undefined> }

function objectSchema(fields: Fields): JsonSchema {
  const all = Object.entries(fields)
  const required = all.filter(([, shape]) => !('isOptional' in shape)).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(all.map(([name, { schema }]) => [name, schema])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  }
}

/** A mapping with exactly these fields; an unknown one is an issue that names the nearest known one. */
export function object<F extends Fields>(fields: F): Shape<ObjectOf<F>> {
  const names = Object.keys(fields)
  return {
    what: 'a mapping',
    schema: objectSchema(fields),
    fields,
    check: (value, path, issues) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        const message = `must be a mapping with ${names.join(', ')}, not ${found(value)}`
        issues.push({ path, message })
        return {} as ObjectOf<F>
      }
      const result: Record<string, unknown> = {}
      for (const [name, one] of Object.entries(value)) {
        const shape = fields[name]
        if (shape === undefined) {
          const nearest = nearestName(name, names)
          const hint =
            nearest === undefined ? `known are ${names.join(', ')}` : `did you mean ${nearest}?`
          issues.push({ path: [...path, name], message: `unknown field; ${hint}` })
        } else result[name] = shape.check(one, [...path, name], issues)
      }
      for (const [name, shape] of Object.entries(fields)) {
        if (!('isOptional' in shape) && !Object.hasOwn(value, name)) {
          issues.push({ path, message: `${name} is missing: ${shape.what}` })
        }
      }
      return result as ObjectOf<F>
    },
  }
}
