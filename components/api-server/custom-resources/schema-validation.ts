/** Validation of custom resources by their schema, with upstream's messages (apiextensions-apiserver pkg/apiserver/validation). */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import {
  duplicateValue,
  invalidValue,
  requiredValue,
} from '../../machinery/validation/field-errors.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import type { FieldError } from '../../machinery/objects/status-error.ts'
import { goJson } from '../kinds/rules/field-rules.ts'
import { additionalOf, itemsOf } from './schema-parts.ts'
import { elementsBefore, fieldBefore, isAsBefore } from './earlier-value.ts'
import type { SchemaModules } from './schema-modules.ts'
import { shownValue, valueFaults } from './value-rules.ts'

interface Result {
  readonly errors: FieldError[]
  /** How many values are valid: when all alternatives fail, the closest one is reported. */
  matches: number
}

function childPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/** Upstream reports alternatives without a field. */
function composite(path: string, what: string): FieldError {
  return invalidValue('<nil>', { value: '', detail: `"${path}" must ${what}` })
}

/** Checks values of a schema for which the modules that it needs are loaded. */
class Checker {
  readonly #modules: SchemaModules

  constructor(modules: SchemaModules) {
    this.#modules = modules
  }

  /** `before` is what stood there before an update; undefined for none, and inside of alternatives. */
  check(value: unknown, schema: JSONSchemaProps, path: string, before?: unknown): Result {
    if (isAsBefore(value, before)) return { errors: [], matches: 1 }
    const errors = valueFaults(value, schema, { path, modules: this.#modules })
    const result: Result = { errors, matches: errors.length === 0 ? 1 : 0 }
    if (value === null && schema.nullable === true) return result
    this.#checkAlternatives(value, schema, { path, result })
    const into = (
      inner: { now: unknown; before: unknown },
      by: JSONSchemaProps,
      at: string,
    ): void => {
      const found = this.check(inner.now, by, at, inner.before)
      result.errors.push(...found.errors)
      result.matches += found.matches
    }
    if (Array.isArray(value)) {
      const items = itemsOf(schema)
      if (items !== undefined) {
        const earlier = elementsBefore(before, schema)
        for (const [index, item] of value.entries()) {
          const inner = { now: item, before: earlier(item) }
          into(inner, items, `${path}[${index}]`)
        }
      }
    } else if (isRecord(value)) {
      const additional = additionalOf(schema)
      for (const name of Object.keys(value)) {
        const by = getOwn(schema.properties, name) ?? additional
        const inner = { now: value[name], before: fieldBefore(name, before, schema) }
        if (by !== undefined) into(inner, by, childPath(path, name))
      }
      for (const name of schema.required ?? []) {
        if (!Object.hasOwn(value, name)) errors.push(requiredValue(childPath(path, name)))
      }
    }
    return result
  }

  #checkAlternatives(
    value: unknown,
    schema: JSONSchemaProps,
    at: { path: string; result: Result },
  ): void {
    const { path, result } = at
    const { errors } = result
    const tried = (schemas: readonly JSONSchemaProps[]): Result[] =>
      schemas.map((one) => this.check(value, one, path))
    const isFine = (one: Result): boolean => one.errors.length === 0
    if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
      const results = tried(schema.anyOf)
      if (!results.some(isFine)) {
        errors.push(composite(path, 'validate at least one schema (anyOf)'), ...closest(results))
      }
    }
    if (schema.oneOf !== undefined && schema.oneOf.length > 0) {
      const results = tried(schema.oneOf)
      const fine = results.filter(isFine).length
      const what = 'validate one and only one schema (oneOf).'
      if (fine === 0) errors.push(composite(path, `${what} Found none valid`), ...closest(results))
      else if (fine > 1) errors.push(composite(path, `${what} Found ${fine} valid alternatives`))
    }
    if (schema.allOf !== undefined && schema.allOf.length > 0) {
      const results = tried(schema.allOf)
      const fine = results.filter(isFine).length
      for (const one of results) errors.push(...one.errors)
      if (fine < results.length) {
        const more = fine === 0 ? '. None validated' : ''
        errors.push(composite(path, `validate all the schemas (allOf)${more}`))
      }
    }
    if (schema.not !== undefined && isFine(this.check(value, schema.not, path))) {
      errors.push(composite(path, 'not validate the schema (not)'))
    }
  }
}

function closest(results: readonly Result[]): readonly FieldError[] {
  const [first, ...others] = results
  if (first === undefined) return []
  return others.reduce((best, other) => (other.matches > best.matches ? other : best), first).errors
}

/**
 * The validation errors of a whole object; its metadata has rules of its own. An update is validated only where it
 * changes the object, so that a schema can become stricter (upstream: the gate CRDValidationRatcheting).
 */
export function schemaFaults(
  object: unknown,
  schema: JSONSchemaProps,
  by: { modules: SchemaModules; old?: Readonly<Record<string, unknown>> | undefined },
): FieldError[] {
  return new Checker(by.modules).check(object, schema, '', by.old).errors
}

/** Repeated elements of sets, and of maps by their keys (upstream: schema/listtype). */
export function listFaults(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  path = '',
): FieldError[] {
  if (schema === undefined) return []
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    const inner = value.flatMap((item, index) => listFaults(item, items, `${path}[${index}]`))
    return [...repeated(value, schema, path), ...inner]
  }
  if (!isRecord(value)) return []
  const additional = additionalOf(schema)
  return Object.keys(value).flatMap((name) =>
    listFaults(value[name], getOwn(schema.properties, name) ?? additional, childPath(path, name)),
  )
}

function repeated(list: readonly unknown[], schema: JSONSchemaProps, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type']
  if (listType !== 'set' && listType !== 'map') return []
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const keyOf = (item: unknown): unknown =>
    listType === 'set' || !isRecord(item)
      ? item
      : Object.fromEntries(
          keys.filter((key) => item[key] !== undefined).map((key) => [key, item[key]]),
        )
  const seen = new Set<string>()
  const told = new Set<string>()
  return list.flatMap((item, index) => {
    const key = keyOf(item)
    const text = comparedText(key)
    if (!seen.has(text)) {
      seen.add(text)
      return []
    }
    if (told.has(text)) return []
    told.add(text)
    const isScalar = typeof key !== 'object' || key === null
    return [duplicateValue(`${path}[${index}]`, isScalar ? shownValue(key) : goJson(key))]
  })
}

/** The same for equal values alone, whatever the order of their fields: a long list is compared in time that is linear. */
function comparedText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isRecord(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

/** Whole objects inside of the object say what they are (upstream: schema/objectmeta Validate). */
export function embeddedFaults(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  path = '',
): FieldError[] {
  if (schema === undefined) return []
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    return value.flatMap((item, index) => embeddedFaults(item, items, `${path}[${index}]`))
  }
  if (!isRecord(value)) return []
  const errors: FieldError[] = []
  if (path !== '' && schema['x-kubernetes-embedded-resource'] === true) {
    for (const name of ['apiVersion', 'kind']) {
      if (!value[name]) errors.push(requiredValue(`${path}.${name}`, 'must not be empty'))
    }
  }
  const additional = additionalOf(schema)
  for (const name of Object.keys(value)) {
    const by = getOwn(schema.properties, name) ?? additional
    errors.push(...embeddedFaults(value[name], by, childPath(path, name)))
  }
  return errors
}
