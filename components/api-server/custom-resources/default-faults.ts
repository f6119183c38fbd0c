/** Defaults of a schema must be values that it allows, of fields that it knows (upstream: schema/defaulting/validation.go). */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import type { FieldError } from '../../machinery/objects/status-error.ts'
import { itemsOf } from './schema-parts.ts'
import { pruneValue } from './pruning.ts'
import { embeddedFaults, schemaFaults } from './schema-validation.ts'
import type { SchemaModules } from './schema-modules.ts'
import { shownValue } from './value-rules.ts'

interface Default {
  readonly value: unknown
  readonly schema: JSONSchemaProps
  /** Of the default itself. */
  readonly path: string
  /** It is, or lies in, the type or metadata of a whole object, which no schema says all of. */
  readonly isInMeta: boolean
}

const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

function* defaultsOf(
  schema: JSONSchemaProps,
  at: { path: string; isWhole: boolean; isInMeta: boolean },
): Iterable<Default> {
  const isWhole = at.isWhole || schema['x-kubernetes-embedded-resource'] === true
  const isInMeta = at.isInMeta && !isWhole
  const { path } = at
  if (schema.default !== undefined && schema.default !== null) {
    yield { value: schema.default, schema, path: `${path}.default`, isInMeta }
  }
  const items = itemsOf(schema)
  if (items !== undefined) {
    yield* defaultsOf(items, { path: `${path}.items`, isWhole: false, isInMeta })
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield* defaultsOf(property, {
      path: `${path}.properties[${name}]`,
      isWhole: false,
      isInMeta: isInMeta || (isWhole && metaFields.has(name)),
    })
  }
}

function isPruned({ value, schema }: Default): boolean {
  const pruned = copyJson(value)
  pruneValue(pruned, schema)
  return deepEqual(pruned, value)
}

/** A fault within a default, reported at the default's place in the schema. */
export function atDefault(path: string, fault: FieldError): FieldError {
  if (fault.field === '' || fault.field === '<nil>') return { ...fault, field: path }
  const isPart = fault.field.startsWith('[') || fault.field.startsWith('.')
  return { ...fault, field: `${path}${isPart ? '' : '.'}${fault.field}` }
}

/** All defaults in the schema of whole objects. */
export function allDefaults(schema: JSONSchemaProps, path: string): Default[] {
  return [...defaultsOf(schema, { path, isWhole: true, isInMeta: false })]
}

/** True when no default has a field that the schema does not know: once it is so, it must stay so. */
export function areDefaultsPruned(schema: JSONSchemaProps): boolean {
  return allDefaults(schema, '').every((one) => one.isInMeta || isPruned(one))
}

/** Faults of the defaults of a structural schema at `path`. */
export function defaultFaults(
  schema: JSONSchemaProps,
  path: string,
  { mustBePruned, modules }: { mustBePruned: boolean; modules: SchemaModules },
): FieldError[] {
  return allDefaults(schema, path).flatMap((one) => {
    const { value, isInMeta } = one
    const errors: FieldError[] = []
    if (mustBePruned && !isInMeta && !isPruned(one)) {
      const detail = 'must not have unknown fields'
      errors.push(invalidValue(one.path, { value: shownValue(value), detail }))
    }
    const embedded = isInMeta ? [] : embeddedFaults(value, one.schema, one.path)
    if (embedded.length > 0) return [...errors, ...embedded]
    const wrong = schemaFaults(value, one.schema, { modules }).map((fault) =>
      atDefault(one.path, fault),
    )
    return [...errors, ...wrong]
  })
}
