/**
 * The author's schema of a custom kind as clients get it: what version 3 keeps of it, and the part of that which kubectl can
 * read in version 2 (upstream: apiextensions-apiserver pkg/apiserver/schema/kubeopenapi.go, unfold.go,
 * pkg/controller/openapi/v2/conversion.go).
 */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { additionalOf, itemsOf } from '../custom-resources/schema-parts.ts'
import type { JsonObject } from './definitions.ts'

/** Fields of every embedded resource. They replace the author's. */
export type EmbeddedFields = Readonly<Record<'apiVersion' | 'kind' | 'metadata', JsonObject>>

export interface Publishing {
  readonly version: 2 | 3
  readonly embedded: EmbeddedFields
}

/** Keywords that are published as they are, unless they are empty. */
const plain = [
  'description',
  'type',
  'title',
  'format',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'enum',
  'maxProperties',
  'minProperties',
  'required',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const satisfies readonly (keyof JSONSchemaProps)[]

const junctors = ['allOf', 'anyOf', 'oneOf'] as const

/** Upstream's encoder omits these. A number is kept: a bound of 0 is a bound. */
function isEmpty(value: unknown): boolean {
  return !value ? typeof value !== 'number' : Array.isArray(value) && value.length === 0
}

function keywords(schema: JSONSchemaProps): JsonObject {
  const kept: JsonObject = {}
  for (const name of plain) if (!isEmpty(schema[name])) kept[name] = schema[name]
  return kept
}

/** The schema of a root or of a part, without the fields that every object has. */
export function publishedSchema(schema: JSONSchemaProps, to: Publishing): JsonObject {
  const published = to.version === 3 ? version3(schema, to) : version2(schema, to)
  return schema['x-kubernetes-embedded-resource'] === true
    ? withEmbeddedFields(published, schema, to)
    : published
}

function version3(schema: JSONSchemaProps, to: Publishing): JsonObject {
  const { nullable, default: fallback } = schema
  return {
    ...keywords(schema),
    ...(nullable === true && { nullable }),
    ...(fallback !== undefined && fallback !== null && { default: fallback }),
    ...parts(schema, to),
    ...validations(unfolded(schema)),
  }
}

/**
 * Version 2 has neither alternatives nor null, and kubectl rejects unknown fields wherever it sees a type: what is nullable or
 * preserves unknown fields is published without a type and without fields.
 */
function version2(schema: JSONSchemaProps, to: Publishing): JsonObject {
  const isFree = schema['x-kubernetes-preserve-unknown-fields'] === true
  const hasFields = !isFree && schema.nullable !== true
  const { items, properties, additionalProperties } = parts(schema, to)
  const { type, required: _, ...kept } = keywords(schema)
  const hasType =
    schema.nullable !== true &&
    (type === 'array' ? hasFields && items !== undefined : type !== 'object' || !isFree)
  const demanded = requiredInVersion2(schema, hasFields)
  return {
    ...kept,
    ...(hasType && type !== undefined && { type }),
    ...(demanded.length > 0 && { required: demanded }),
    ...(hasFields && items !== undefined && { items }),
    ...(hasFields && properties !== undefined && { properties }),
    ...(additionalProperties !== undefined && { additionalProperties }),
  }
}

/** A client that knows no null must not miss a field that may be null. */
function requiredInVersion2(schema: JSONSchemaProps, hasFields: boolean): string[] {
  if (additionalOf(schema)?.nullable === true) return []
  const { required = [], properties = {} } = schema
  if (!hasFields) return required
  const isNullable = (name: string) =>
    Object.hasOwn(properties, name) && properties[name]?.nullable === true
  return required.filter((name) => !isNullable(name))
}

function parts(schema: JSONSchemaProps, to: Publishing): JsonObject {
  const items = itemsOf(schema)
  const additional = additionalOf(schema) ?? schema.additionalProperties
  const properties = Object.entries(schema.properties ?? {})
  return {
    ...(items !== undefined && { items: publishedSchema(items, to) }),
    ...(properties.length > 0 && {
      properties: Object.fromEntries(
        properties.map(([name, property]) => [name, publishedSchema(property, to)]),
      ),
    }),
    ...(typeof additional === 'object' && {
      additionalProperties: publishedSchema(additional, to),
    }),
    ...(typeof additional === 'boolean' && { additionalProperties: additional }),
  }
}

const integerOrString = [{ type: 'integer' }, { type: 'string' }]

/** States what `x-kubernetes-int-or-string` means, where the author did not. */
function unfolded(schema: JSONSchemaProps): JSONSchemaProps {
  if (schema['x-kubernetes-int-or-string'] !== true) return schema
  const { anyOf = [], allOf = [] } = schema
  if (isIntegerOrString(anyOf) || isIntegerOrString(allOf[0]?.anyOf)) return schema
  if (anyOf.length === 0) return { ...schema, anyOf: integerOrString }
  return { ...schema, allOf: [{ anyOf: integerOrString }, ...allOf] }
}

function isIntegerOrString(anyOf: readonly JSONSchemaProps[] = []): boolean {
  return anyOf.length === 2 && anyOf[0]?.type === 'integer' && anyOf[1]?.type === 'string'
}

function validations(schema: JSONSchemaProps): JsonObject {
  const found: JsonObject = {}
  for (const name of junctors) {
    const schemas = schema[name] ?? []
    if (schemas.length > 0) found[name] = schemas.map(validation)
  }
  if (schema.not !== undefined) found['not'] = validation(schema.not)
  return found
}

/** A schema inside of alternatives. Upstream publishes its items and properties alone. */
function validation(schema: JSONSchemaProps): JsonObject {
  const items = itemsOf(schema)
  const properties = Object.entries(schema.properties ?? {})
  return {
    ...keywords(schema),
    ...(items !== undefined && { items: validation(items) }),
    ...(properties.length > 0 && {
      properties: Object.fromEntries(
        properties.map(([name, property]) => [name, validation(property)]),
      ),
    }),
    ...validations(schema),
  }
}

function withEmbeddedFields(
  published: JsonObject,
  schema: JSONSchemaProps,
  to: Publishing,
): JsonObject {
  // kubectl would reject every field but these three.
  if (to.version === 2 && schema['x-kubernetes-preserve-unknown-fields'] === true) return published
  const required = (published['required'] ?? []) as string[]
  const missing = ['kind', 'apiVersion'].filter((name) => !required.includes(name))
  return {
    ...published,
    properties: { ...(published['properties'] as JsonObject | undefined), ...to.embedded },
    required: [...required, ...missing],
  }
}
