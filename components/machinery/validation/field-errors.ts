/** Factories of FieldErrors with upstream's exact texts (apimachinery util/validation/field, release 1.32). */
import type { GoValue } from '../values/go-syntax.ts'
import { goQuote, goValue } from '../values/go-syntax.ts'
import type { FieldError } from '../objects/status-error.ts'

type ErrorType = FieldError['type']

const titles: Readonly<Record<ErrorType, string>> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
}

function withDetail(type: ErrorType, body: string, detail: string): string {
  return detail === '' ? `${titles[type]}${body}` : `${titles[type]}${body}: ${detail}`
}

function fieldError(field: string, type: ErrorType, detail: string): FieldError {
  return { field, type, message: withDetail(type, '', detail) }
}

/** One value that an error shows, and what is wrong with it. */
export interface BadValue {
  readonly value: GoValue
  /** '' leaves the explanation out. */
  readonly detail: string
}

function badValueError(field: string, type: ErrorType, { value, detail }: BadValue): FieldError {
  return { field, type, message: withDetail(type, `: ${goValue(value)}`, detail) }
}

export function requiredValue(field: string, detail = ''): FieldError {
  return fieldError(field, 'FieldValueRequired', detail)
}

export function invalidValue(field: string, bad: BadValue): FieldError {
  return badValueError(field, 'FieldValueInvalid', bad)
}

/** Like invalidValue, without showing the value (upstream: field.OmitValueType). */
export function invalidWithoutValue(field: string, detail: string): FieldError {
  return fieldError(field, 'FieldValueInvalid', detail)
}

export function typeInvalid(field: string, bad: BadValue): FieldError {
  return badValueError(field, 'FieldValueTypeInvalid', bad)
}

export function duplicateValue(field: string, value: GoValue, detail = ''): FieldError {
  return badValueError(field, 'FieldValueDuplicate', { value, detail })
}

export function valueNotFound(field: string, value: GoValue, detail = ''): FieldError {
  return badValueError(field, 'FieldValueNotFound', { value, detail })
}

export function forbiddenValue(field: string, detail: string): FieldError {
  return fieldError(field, 'FieldValueForbidden', detail)
}

/** `supported` is shown in the order given; upstream sorts most of its lists. */
export function unsupportedValue(
  field: string,
  bad: { readonly value: GoValue; readonly supported: readonly string[] },
): FieldError {
  const detail =
    bad.supported.length === 0 ? '' : `supported values: ${bad.supported.map(goQuote).join(', ')}`
  return badValueError(field, 'FieldValueNotSupported', { value: bad.value, detail })
}

/** `maxBytes` below 0 leaves the limit out. */
export function tooLong(field: string, maxBytes: number): FieldError {
  const unit = maxBytes === 1 ? 'byte' : 'bytes'
  const detail = maxBytes < 0 ? 'value is too long' : `may not be more than ${maxBytes} ${unit}`
  return fieldError(field, 'FieldValueTooLong', detail)
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  const unit = max === 1 ? 'item' : 'items'
  return badValueError(field, 'FieldValueTooMany', {
    value: actual,
    detail: `must have at most ${max} ${unit}`,
  })
}

export function internalFieldError(field: string, detail: string): FieldError {
  return fieldError(field, 'InternalError', detail)
}
