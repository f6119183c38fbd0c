/** The rules of one schema on one value alone: type, range, length, pattern, format, enum (upstream: kube-openapi pkg/validation/validate). */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import {
  invalidValue,
  tooLong,
  tooMany,
  typeInvalid,
  unsupportedValue,
} from '../../machinery/validation/field-errors.ts'
import type { GoValue } from '../../machinery/values/go-syntax.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import type { FieldError } from '../../machinery/objects/status-error.ts'
import { goJson } from '../kinds/rules/field-rules.ts'
import { loaded, type SchemaModules } from './schema-modules.ts'

/** A JSON value's type in the words of JSON Schema. */
function typeNameOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

function hasType(value: unknown, type: string): boolean {
  const name = typeNameOf(value)
  return name === type || (type === 'number' && name === 'integer')
}

/** A value as messages show it. */
export function shownValue(value: unknown): GoValue {
  return typeof value === 'object' && value !== null ? goJson(value) : (value as GoValue)
}

/** Undefined when the value is of the schema's type, or the schema names none. */
function typeFault(value: unknown, schema: JSONSchemaProps, path: string): FieldError | undefined {
  if (value === null && schema.nullable === true) return undefined
  const isMixed = schema['x-kubernetes-int-or-string'] === true
  const types = isMixed ? ['integer', 'string'] : schema.type ? [schema.type] : []
  if (types.length === 0 || types.some((type) => hasType(value, type))) return undefined
  const name = typeNameOf(value)
  const detail = `${path === '' ? '' : `${path} `}in body must be of type ${types.join(',')}: "${name}"`
  return typeInvalid(path, { value: name, detail })
}

const hostname =
  /^(?=.{1,255}$)[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?(?:\.[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?)*\.?$/
const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const uuidOf = (version: number, variant: string): RegExp =>
  new RegExp(
    `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`,
    'i',
  )
const dateTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})?$/
const duration =
  /^[+-]?(?:\d+(?:\.\d*)?(?:ns|us|µs|μs|ms|s|m|h|d|w| ?(?:nanoseconds?|microseconds?|milliseconds?|seconds?|minutes?|hours?|days?|weeks?)))+$|^0$/
const rgb = '(?:0|[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5])'

const isDate = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))

function isUrl(text: string): boolean {
  return URL.canParse(text) || (text.startsWith('/') && URL.canParse(text, 'http://localhost'))
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/')
  if (more.length > 0 || isIP(address) === 0 || !/^\d{1,3}$/.test(bits)) return false
  return Number(bits) <= (isIPv4(address) ? 32 : 128)
}

/** Upstream's strfmt formats; other names say nothing. */
const formats: Readonly<Record<string, RegExp | ((text: string) => boolean)>> = {
  bsonobjectid: /^[0-9a-f]{24}$/i,
  uri: isUrl,
  email: /^[^\s@<>]+@[^\s@<>]+$/,
  hostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: isCidr,
  mac: /^(?:[0-9a-f]{2}[:-]){5}(?:[0-9a-f]{2})(?:[:-][0-9a-f]{2}){0,2}$/i,
  uuid,
  uuid3: uuidOf(3, '[0-9a-f]'),
  uuid4: uuidOf(4, '[89ab]'),
  uuid5: uuidOf(5, '[89ab]'),
  isbn: /^(?:[\d -]{9,16}[\dXx])$/,
  isbn10: /^[\d -]{9,12}[\dXx]$/,
  isbn13: /^[\d -]{13,17}$/,
  hexcolor: /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i,
  rgbcolor: new RegExp(`^rgb\\(\\s*${rgb}\\s*,\\s*${rgb}\\s*,\\s*${rgb}\\s*\\)$`),
  byte: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  date: isDate,
  datetime: dateTime,
  'date-time': (text) => dateTime.test(text) && isDate(text.slice(0, 10)),
  duration,
}

function isOfFormat(text: string, format: string): boolean {
  const rule = Object.hasOwn(formats, format) ? formats[format] : undefined
  if (rule === undefined) return true
  return typeof rule === 'function' ? rule(text) : rule.test(text)
}

type Report = (detail: string, value?: GoValue) => void

function checkText(
  text: string,
  schema: JSONSchemaProps,
  to: { report: Report; errors: FieldError[]; path: string; modules: SchemaModules },
): void {
  const { maxLength, minLength, pattern, format } = schema
  const length = maxLength === undefined && minLength === undefined ? 0 : Array.from(text).length
  if (maxLength !== undefined && length > maxLength) to.errors.push(tooLong(to.path, maxLength))
  if (minLength !== undefined && length < minLength) {
    to.report(`should be at least ${minLength} chars long`)
  }
  const wanted = pattern ? loaded(to.modules.patterns).linearPattern(pattern) : ''
  if (typeof wanted !== 'string' && !wanted.isIn(text)) to.report(`should match '${pattern}'`)
  if (format && !isOfFormat(text, format)) {
    const detail = `${to.path} in body must be of type ${format}: ${JSON.stringify(text)}`
    to.errors.push(typeInvalid(to.path, { value: text, detail }))
  }
}

function isMultiple(value: number, of: number): boolean {
  const quotient = value / of
  return Math.abs(quotient - Math.round(quotient)) < 1e-9
}

function checkNumber(value: number, schema: JSONSchemaProps, report: Report): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) {
    report(`should be a multiple of ${multipleOf}`)
  }
  if (maximum !== undefined) {
    if (exclusiveMaximum ? value >= maximum : value > maximum) {
      report(`should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`)
    }
  }
  if (minimum !== undefined) {
    if (exclusiveMinimum ? value <= minimum : value < minimum) {
      report(`should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`)
    }
  }
}

function checkCount(
  counted: { count: number; min: number | undefined; max: number | undefined; unit: string },
  to: { report: Report; errors: FieldError[]; path: string },
): void {
  const { count, min, max, unit } = counted
  if (min !== undefined && count < min) to.report(`should have at least ${min} ${unit}`, count)
  if (max !== undefined && count > max) to.errors.push(tooMany(to.path, count, max))
}

/** All validation errors of the value itself. Does not look at nested values. */
export function valueFaults(
  value: unknown,
  schema: JSONSchemaProps,
  at: { path: string; modules: SchemaModules },
): FieldError[] {
  const { path, modules } = at
  const wrong = typeFault(value, schema, path)
  const errors = wrong === undefined ? [] : [wrong]
  if (value === null && schema.nullable === true) return errors
  const report: Report = (detail, shown = shownValue(value)) => {
    errors.push(invalidValue(path, { value: shown, detail: `${path} in body ${detail}` }))
  }
  const to = { report, errors, path, modules }
  if (typeof value === 'string') checkText(value, schema, to)
  else if (typeof value === 'number') checkNumber(value, schema, report)
  else if (Array.isArray(value)) {
    const { minItems: min, maxItems: max } = schema
    checkCount({ count: value.length, min, max, unit: 'items' }, to)
    const isRepeated = (item: unknown, index: number): boolean =>
      value.findIndex((other) => deepEqual(other, item)) < index
    if (schema.uniqueItems === true && value.some(isRepeated)) {
      report("shouldn't contain duplicates", '')
    }
  } else if (isRecord(value)) {
    const { minProperties: min, maxProperties: max } = schema
    checkCount({ count: Object.keys(value).length, min, max, unit: 'properties' }, to)
  }
  if (schema.enum !== undefined && !schema.enum.some((known) => deepEqual(known, value))) {
    const supported = schema.enum.map((known) =>
      typeof known === 'string' ? known : JSON.stringify(known),
    )
    errors.push(unsupportedValue(path, { value: shownValue(value), supported }))
  }
  return errors
}
