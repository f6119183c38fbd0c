/** A structural schema as server-side apply walks it: which fields there are, and how lists and maps merge. */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { schemaOf } from '../../api/schemas.ts'
import type { Json } from '../../machinery/objects/object.ts'
import type {
  FieldSchema,
  ListSchema,
  Schema,
  StructSchema,
} from '../../machinery/schema/schema.ts'
import { additionalOf, itemsOf } from './schema-parts.ts'

const text: Schema = { kind: 'string', goType: 'string' }
const anything: Schema = { kind: 'JSON', goType: 'interface {}' }
const metaTypes: Readonly<Record<string, () => Schema>> = {
  apiVersion: () => text,
  kind: () => text,
  metadata: () => schemaOf('meta/v1.ObjectMeta'),
}

const scalars: Readonly<Record<string, Schema>> = {
  string: text,
  boolean: { kind: 'bool', goType: 'bool' },
  integer: { kind: 'int64', goType: 'int64' },
  number: { kind: 'double', goType: 'float64' },
}

function fieldOf(name: string, schema: Schema, fallback?: unknown): FieldSchema {
  const isAtomic =
    (schema.kind === 'list' && schema.listType === 'atomic') ||
    (schema.kind === 'struct' && schema.atomic) ||
    (schema.kind === 'map' && schema.atomic)
  return {
    name,
    schema,
    proto: 0,
    pointer: true,
    required: false,
    omitEmpty: true,
    atomic: isAtomic,
    patchStrategy: [],
    patchMergeKey: undefined,
    default: fallback as Json | undefined,
  }
}

function structOf(schema: JSONSchemaProps, at: { name: string; isWhole: boolean }): StructSchema {
  const fields = new Map<string, FieldSchema>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    fields.set(name, fieldOf(name, typeOf(property, `${at.name}.${name}`), property.default))
  }
  if (at.isWhole) {
    for (const [name, type] of Object.entries(metaTypes)) fields.set(name, fieldOf(name, type()))
  }
  return {
    kind: 'struct',
    name: at.name,
    goName: at.name,
    goType: at.name,
    fields,
    own: [],
    embedded: [],
    atomic: schema['x-kubernetes-map-type'] === 'atomic',
    union: undefined,
    isOpen: schema['x-kubernetes-preserve-unknown-fields'] === true,
  }
}

function listOf(schema: JSONSchemaProps, name: string): ListSchema {
  const items = itemsOf(schema)
  const listType = schema['x-kubernetes-list-type']
  return {
    kind: 'list',
    goType: '[]interface {}',
    items: items === undefined ? anything : typeOf(items, `${name}[]`),
    wrapped: false,
    listType: listType === 'map' || listType === 'set' ? listType : 'atomic',
    mapKeys: schema['x-kubernetes-list-map-keys'] ?? [],
  }
}

function typeOf(schema: JSONSchemaProps, name: string): Schema {
  if (schema['x-kubernetes-int-or-string'] === true) {
    return { kind: 'IntOrString', goType: 'intstr.IntOrString' }
  }
  const { type = '' } = schema
  if (type === 'array') return listOf(schema, name)
  const scalar = Object.hasOwn(scalars, type) ? scalars[type] : undefined
  if (scalar !== undefined) return scalar
  const isWhole = schema['x-kubernetes-embedded-resource'] === true
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true
  const isAtomic = schema['x-kubernetes-map-type'] === 'atomic'
  const hasFields = Object.keys(schema.properties ?? {}).length > 0
  if (hasFields || isWhole) return structOf(schema, { name, isWhole })
  const additional = additionalOf(schema)
  if (additional !== undefined) {
    const values = typeOf(additional, `${name}{}`)
    return { kind: 'map', goType: 'map[string]interface {}', values, atomic: isAtomic }
  }
  if (schema.additionalProperties === true) {
    return { kind: 'map', goType: 'map[string]interface {}', values: anything, atomic: isAtomic }
  }
  if (keepsUnknown && !isAtomic) return anything
  return structOf(schema, { name, isWhole: false })
}

/** The struct of whole objects, with what every object has. */
export function applySchemaOf(schema: JSONSchemaProps, name: string): StructSchema {
  return { ...structOf(schema, { name, isWhole: true }), atomic: false }
}
