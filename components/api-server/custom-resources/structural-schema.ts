/**
 * Structural schemas: those of custom resources must say the type of every field outside of value validations
 * (upstream: apiextensions-apiserver pkg/apiserver/schema/validation.go).
 */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { FieldPath } from '../../machinery/validation/field-path.ts'
import type { FieldError } from '../../machinery/objects/status-error.ts'
import { additionalOf, itemsOf } from './schema-parts.ts'
import { loaded, type SchemaModules } from './schema-modules.ts'
import { semanticEqual } from '../kinds/rules/field-rules.ts'

type Level = 'root' | 'item' | 'field'

const emptyType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

/** Why the schema is not structural, in the order of the texts. `modules` are those that it needs. */
export function structuralFaults(
  schema: JSONSchemaProps,
  path: string,
  modules: SchemaModules,
): FieldError[] {
  const at = FieldPath.root(path)
  checkInvariants(schema, { level: 'root', modules }, at)
  const text = ({ field, message }: FieldError) => `${field}: ${message}`
  return at.errors.toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
}

interface Place {
  readonly level: Level
  readonly modules: SchemaModules
}

function checkInvariants(schema: JSONSchemaProps, place: Place, at: FieldPath): void {
  const { level, modules } = place
  const field: Place = { level: 'field', modules }
  const items = itemsOf(schema)
  if (schema.type === 'array' && items === undefined)
    at.child('items').required('must be specified')
  if (items !== undefined) checkInvariants(items, { level: 'item', modules }, at.child('items'))
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    checkInvariants(property, field, at.child('properties').key(name))
  }
  if (schema.additionalProperties !== undefined && level === 'root') {
    at.child('additionalProperties').forbidden('must not be used at the root')
  }
  const additional = additionalOf(schema)
  if (additional) checkInvariants(additional, field, at.child('additionalProperties'))
  checkExtensions(schema, at)
  checkValueValidation(schema, at, modules)
  checkType(schema, level, at)
  checkMetaFields(schema, level, at)
}

function checkExtensions(schema: JSONSchemaProps, at: FieldPath): void {
  if (schema['x-kubernetes-int-or-string'] !== true) return
  for (const name of [
    'x-kubernetes-preserve-unknown-fields',
    'x-kubernetes-embedded-resource',
  ] as const) {
    if (schema[name] === true) {
      at.child(name).invalid(true, 'must be false if x-kubernetes-int-or-string is true')
    }
  }
}

function checkType(schema: JSONSchemaProps, level: Level, at: FieldPath): void {
  const { type = '' } = schema
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true
  const typeAt = at.child('type')
  if (isEmbedded && type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true'
    if (type === '') typeAt.required(why)
    else typeAt.invalid(type, why)
  } else if (type === '' && !schema['x-kubernetes-int-or-string'] && !keepsUnknown) {
    typeAt.required(emptyType[level])
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    typeAt.invalid(type, 'must be object at the root')
  }
  if (!isEmbedded) return
  if (schema.additionalProperties !== undefined) {
    const why = 'must not be used if x-kubernetes-embedded-resource is set'
    at.child('additionalProperties').forbidden(why)
  }
  if (!keepsUnknown && Object.keys(schema.properties ?? {}).length === 0) {
    at.child('properties').required(
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    )
  }
}

/** kind, apiVersion and metadata of whole objects are known; of metadata only the name can be restricted. */
function checkMetaFields(schema: JSONSchemaProps, level: Level, at: FieldPath): void {
  if (level !== 'root' && schema['x-kubernetes-embedded-resource'] !== true) return
  const { kind, apiVersion, metadata } = schema.properties ?? {}
  for (const [name, property] of Object.entries({ kind, apiVersion })) {
    if (property === undefined || property.type === 'string') continue
    at.child('properties')
      .key(name)
      .child('type')
      .invalid(property.type ?? '', 'must be string')
  }
  if (metadata === undefined) return
  const metadataAt = at.child('properties').key('metadata')
  if (metadata.type !== 'object') {
    metadataAt.child('type').invalid(metadata.type ?? '', 'must be object')
  }
  if (level !== 'root') return
  const { type: _, default: __, properties = {}, ...more } = metadata
  const restricted = Object.keys(properties)
  const isName = (name: string) => name === 'name' || name === 'generateName'
  if (Object.keys(more).length > 0 || !restricted.every(isName)) {
    metadataAt.forbidden(
      'must not specify anything other than name and generateName, but metadata is implicitly specified',
    )
  }
}

const integerOrString = [{ type: 'integer' }, { type: 'string' }]

function isIntegerOrString(schemas: readonly JSONSchemaProps[] | undefined): boolean {
  return semanticEqual(schemas, integerOrString)
}

function checkValueValidation(
  schema: JSONSchemaProps,
  at: FieldPath,
  modules: SchemaModules,
): void {
  if (!isIntegerOrString(schema.anyOf)) checkEach(schema.anyOf, at.child('anyOf'), modules)
  for (const [i, nested] of (schema.allOf ?? []).entries()) {
    const { anyOf, ...rest } = nested
    const isPattern = i === 0 && isIntegerOrString(anyOf)
    checkNested(isPattern ? rest : nested, at.child('allOf').index(i), modules)
  }
  checkEach(schema.oneOf, at.child('oneOf'), modules)
  if (schema.not) checkNested(schema.not, at.child('not'), modules)
  const pattern = schema.pattern
    ? loaded(modules.patterns).linearPattern(schema.pattern)
    : undefined
  if (typeof pattern === 'string') {
    const why = `must be a valid regular expression, but isn't: ${pattern}`
    at.child('pattern').invalid(schema.pattern, why)
  }
}

function checkEach(
  schemas: readonly JSONSchemaProps[] | undefined,
  at: FieldPath,
  modules: SchemaModules,
): void {
  for (const [i, schema] of (schemas ?? []).entries()) checkNested(schema, at.index(i), modules)
}

/** What a schema inside of anyOf, allOf, oneOf and not may not say, and how the message calls its absence. */
const structureOnly: readonly (readonly [
  keyof JSONSchemaProps,
  'empty' | 'undefined' | 'false',
])[] = [
  ['type', 'empty'],
  ['additionalProperties', 'undefined'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
]

function checkNested(schema: JSONSchemaProps, at: FieldPath, modules: SchemaModules): void {
  checkValueValidation(schema, at, modules)
  const items = itemsOf(schema)
  if (items !== undefined) checkNested(items, at.child('items'), modules)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    checkNested(property, at.child('properties').key(name), modules)
  }
  for (const [name, absence] of structureOnly) {
    const value = schema[name]
    const isAbsent =
      value === undefined ||
      (absence !== 'undefined' && (value === false || semanticEqual(value, [])))
    if (!isAbsent && value !== '') at.child(name).forbidden(`must be ${absence} to be structural`)
  }
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, 'metadata')) {
    const why = 'must not be specified in a nested context'
    at.child('properties').key('metadata').forbidden(why)
  }
}
