/** Rules of single fields that many kinds share. */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { GoValue } from '../../../machinery/values/go-syntax.ts'
import { GoText } from '../../../machinery/values/go-syntax.ts'
import {
  label1123,
  percentage,
  portName,
  portNumber,
  regexMessage,
  subdomain,
} from '../../../machinery/validation/names.ts'
import { fieldIsImmutable } from '../../../machinery/validation/object-meta-validation.ts'
import { getOwn } from '../../../machinery/values/json-copy.ts'

export const mustNotBeNegative = 'must be greater than or equal to 0'

export function validateNonNegative(value: number | undefined, at: FieldPath): void {
  if (value !== undefined && value < 0) at.invalid(value, mustNotBeNegative)
}

/** The named fields of a struct that may not be negative. */
export function validateNonNegativeFields<T>(
  struct: T,
  names: readonly (keyof T & string)[],
  at: FieldPath,
): void {
  for (const name of names) {
    const value = struct[name]
    if (typeof value === 'number' && value < 0) at.child(name).invalid(value, mustNotBeNegative)
  }
}

/** A closed set of words; an absent value is valid. */
export function validateOneOf(
  value: string | undefined,
  supported: readonly string[],
  at: FieldPath,
): void {
  if (value !== undefined && !supported.includes(value)) at.unsupported(value, supported)
}

/** A closed set of words of which one must be given. */
export function validateRequiredOneOf(
  value: string | undefined,
  supported: readonly string[],
  at: FieldPath,
): void {
  if (!value) at.required()
  else if (!supported.includes(value)) at.unsupported(value, supported)
}

export function validateSubdomain(value: string, at: FieldPath): void {
  at.invalidEach(value, subdomain(value))
}

export function validateLabel1123(value: string, at: FieldPath): void {
  at.invalidEach(value, label1123(value))
}

/** A port by number or by name; a missing one counts as 0. */
export function validatePortNumberOrName(port: number | string | undefined, at: FieldPath): void {
  if (typeof port === 'string') at.invalidEach(port, portName(port))
  else at.invalidEach(port ?? 0, portNumber(port ?? 0))
}

/** How Go prints an IntOrString. */
export function goIntOrString(value: number | string | undefined): GoText {
  const [type, intVal, strVal] = typeof value === 'string' ? [1, 0, value] : [0, value ?? 0, '']
  return new GoText(
    `intstr.IntOrString{Type:${type}, IntVal:${intVal}, StrVal:${JSON.stringify(strVal)}}`,
  )
}

export function validateIntOrPercent(value: number | string | undefined, at: FieldPath): void {
  if (typeof value === 'string') {
    at.invalidEach(goIntOrString(value), percentage(value))
  } else validateNonNegative(value, at)
}

/** The number in front of the percent sign, or undefined for anything but a percentage. */
export function percentOf(value: number | string | undefined): number | undefined {
  if (typeof value !== 'string' || percentage(value).length > 0) return undefined
  return Number(value.slice(0, -1))
}

/** The number of an integer or a percentage; other texts count as 0, as upstream reads them. */
export function amountOf(value: number | string | undefined): number {
  if (typeof value !== 'string') return value ?? 0
  return percentOf(value) ?? (Number.parseInt(value, 10) || 0)
}

export function validateAtMost100Percent(value: number | string | undefined, at: FieldPath): void {
  if ((percentOf(value) ?? 0) > 100) at.invalid(value, 'must not be greater than 100%')
}

/**
 * Equality as upstream's semantic comparison has it: an empty list or map is as good as none. Values are decoded
 * objects, so zero values of plain fields are absent on both sides.
 */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (isEmpty(a) && isEmpty(b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    return a.every((item, i) => semanticEqual(item, b[i]))
  }
  if (Array.isArray(b)) return false
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  for (const key in left) if (!semanticEqual(left[key], getOwn(right, key))) return false
  for (const key in right) {
    if (!Object.hasOwn(left, key) && !isEmpty(right[key])) return false
  }
  return true
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  if (typeof value !== 'object') return false
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0
}

/** Two values of one field that may not change; `shown` is how the new one is printed when it is not a plain value. */
export interface ImmutableField {
  readonly now: unknown
  readonly before: unknown
  readonly shown?: GoValue
}

export function validateImmutable({ now, before, shown }: ImmutableField, at: FieldPath): void {
  if (semanticEqual(now, before)) return
  const plain = typeof now === 'object' && now !== null ? goJson(now) : (now as GoValue)
  at.invalid(shown ?? plain, fieldIsImmutable)
}

/** Compact JSON in place of Go's struct syntax, where nothing depends on the exact text. */
export function goJson(value: unknown): GoText {
  return new GoText(JSON.stringify(value) ?? 'null')
}

export const pathMustBeAbsolute = 'must be an absolute path'

/** A relative path that does not climb: no leading slash, no `..` element. */
export function validateLocalDescendingPath(path: string, at: FieldPath): void {
  if (path.startsWith('/')) at.invalid(path, 'must be a relative path')
  validateNoBacksteps(path, at)
}

export function validateNoBacksteps(path: string, at: FieldPath): void {
  if (hasBacksteps(path)) at.invalid(path, "must not contain '..'")
}

export function hasBacksteps(path: string): boolean {
  return path.includes('..') && path.split('/').includes('..')
}

/** A local path that does not start with two dots either, which volumes reserve for themselves. */
export function validateLocalNonReservedPath(path: string, at: FieldPath): void {
  validateLocalDescendingPath(path, at)
  if (path.startsWith('..') && !path.startsWith('../')) {
    at.invalid(path, "must not start with '..'")
  }
}

const httpPathPattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
const httpPathMatcher = new RegExp(`^${httpPathPattern}$`)

/** `acme.io/foo`: a domain, a slash, a path. */
export function validateDomainPrefixedPath(value: string, at: FieldPath): void {
  if (value === '') {
    at.required()
    return
  }
  const slash = value.indexOf('/')
  const host = slash < 0 ? '' : value.slice(0, slash)
  const path = slash < 0 ? '' : value.slice(slash + 1)
  if (host === '' || path === '') {
    at.invalid(value, 'must be a domain-prefixed path (such as "acme.io/foo")')
    return
  }
  at.invalidEach(host, subdomain(host))
  if (!httpPathMatcher.test(path)) {
    at.invalid(path, regexMessage('Invalid path', httpPathPattern, []))
  }
}

/** A domain of at least three segments (webhook names). */
export function validateFullyQualifiedName(name: string, at: FieldPath): void {
  if (name === '') {
    at.required()
    return
  }
  const messages = subdomain(name)
  if (messages.length > 0) at.invalid(name, messages.join(','))
  else if (name.split('.').length < 3) {
    at.invalid(name, 'should be a domain with at least three segments separated by dots')
  }
}
