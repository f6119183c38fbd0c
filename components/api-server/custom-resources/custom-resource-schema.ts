/** The OpenAPI schemas of custom resources: what may stand in them. */
import type { CustomResourceValidation, JSONSchemaProps } from '../../api/generated/types.ts'
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { goList } from '../../machinery/values/go-syntax.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import { allDefaults, atDefault, defaultFaults } from './default-faults.ts'
import { fieldPathText } from './field-path-text.ts'
import { loaded, type SchemaModules } from './schema-modules.ts'
import { validateCelRules, type RulesModule } from './custom-resource-rules.ts'
import { goJson, validateOneOf } from '../kinds/rules/field-rules.ts'
import { additionalOf, hasRules, itemsOf } from './schema-parts.ts'
import { structuralFaults } from './structural-schema.ts'

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const ruleReasons = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
]
/** JSON Schema has these, OpenAPI as it is used here has not. */
const unsupported = [
  'id',
  'additionalItems',
  'patternProperties',
  'definitions',
  'dependencies',
  '$ref',
] as const

/** Fields of the root that survive when the status is split off; in upstream's order and spelling. */
const allowedAtRoot: readonly string[] = [
  'Description',
  'Type',
  'Format',
  'Title',
  'Maximum',
  'ExclusiveMaximum',
  'Minimum',
  'ExclusiveMinimum',
  'MaxLength',
  'MinLength',
  'Pattern',
  'MaxItems',
  'MinItems',
  'UniqueItems',
  'MultipleOf',
  'Required',
  'Items',
  'Properties',
  'ExternalDocs',
  'Example',
  'XPreserveUnknownFields',
  'XValidations',
]
const allowedKeys = new Set([
  ...allowedAtRoot.map((name) => name[0]?.toLowerCase() + name.slice(1)),
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
])

export interface SchemaRulesOfDefinition {
  /** The version's status is a sub-resource. */
  readonly hasStatus: boolean
  /** Defaults may have no fields that the schema does not know. */
  readonly mustBePruned: boolean
  /** An update leaves the schema as it is: then its rules may cost what they do. */
  readonly isAsStored: boolean
  /** Those that the schema needs. */
  readonly modules: SchemaModules
}

export function validateCustomSchema(
  validation: CustomResourceValidation,
  at: FieldPath,
  { hasStatus, mustBePruned, isAsStored, modules }: SchemaRulesOfDefinition,
): void {
  const { openAPIV3Schema: schema } = validation
  if (!schema) return
  const schemaAt = at.child('openAPIV3Schema')
  if (hasStatus) {
    const forbidden = Object.keys(schema).find((key) => !allowedKeys.has(key))
    if (schema.type && schema.type !== 'object') {
      const why =
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
      at.child('openAPIV3Schema.type').invalid(schema.type, why)
    } else if (forbidden !== undefined) {
      const why = `only [${allowedAtRoot.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`
      schemaAt.invalid(goJson(schema), why)
    }
  }
  if (schema.nullable === true) {
    at.child('openAPIV3Schema.nullable').forbidden('nullable cannot be true at the root')
  }
  const path = schemaAt.toString()
  const unstructured = structuralFaults(schema, path, modules)
  at.errors.push(...unstructured)
  if (unstructured.length === 0) {
    at.errors.push(...defaultFaults(schema, path, { mustBePruned, modules }))
  }
  const before = at.errors.length
  validateSchema(schema, schemaAt)
  if (unstructured.length > 0 || at.errors.length > before) return
  if (!hasRules(schema)) return
  const rules = loaded(modules.rules)
  validateCelRules(schema, schemaAt, { rules, withCosts: !isAsStored })
  if (at.errors.length > before) return
  for (const one of allDefaults(schema, path)) at.errors.push(...ruleFaultsOf(one, rules))
}

/** Faults that the schema's rules find in a default. */
function ruleFaultsOf(
  { value, schema, path, isInMeta }: ReturnType<typeof allDefaults>[0],
  { SchemaRules }: RulesModule,
) {
  if (isInMeta || !hasRules(schema)) return []
  return new SchemaRules(schema, { isWhole: false })
    .faults(value, undefined)
    .map((fault) => atDefault(path, fault))
}

function validateSchema(schema: JSONSchemaProps, at: FieldPath): void {
  for (const name of unsupported) {
    if (schema[name] !== undefined) at.child(name).forbidden(`${name} is not supported`)
  }
  const { type } = schema
  if (type) validateOneOf(type, types, at.child('type'))
  if (type === 'null') at.child('type').forbidden('type cannot be set to null')
  if (Array.isArray(schema.items)) {
    at.child('items').forbidden('items must be a schema object and not an array')
  }
  if (schema.uniqueItems === true) {
    at.child('uniqueItems').forbidden(
      'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    )
  }
  const properties = Object.entries(schema.properties ?? {})
  const { additionalProperties } = schema
  if (
    additionalProperties !== undefined &&
    additionalProperties !== true &&
    properties.length > 0
  ) {
    const why = 'additionalProperties and properties are mutual exclusive'
    at.child('additionalProperties').forbidden(why)
  }
  validateParts(schema, properties, at)
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    const why = 'must be true or undefined'
    at.child('x-kubernetes-preserve-unknown-fields').invalid(false, why)
  }
  validateMapType(schema, at)
  validateListType(schema, at)
  validateRules(schema, at)
}

function validateParts(
  schema: JSONSchemaProps,
  properties: readonly [string, JSONSchemaProps][],
  at: FieldPath,
): void {
  const additional = additionalOf(schema)
  if (additional) validateSchema(additional, at.child('additionalProperties'))
  for (const [name, property] of properties) {
    validateSchema(property, at.child('properties').key(name))
  }
  if (schema.not) validateSchema(schema.not, at.child('not'))
  for (const junctor of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [i, part] of (schema[junctor] ?? []).entries()) {
      validateSchema(part, at.child(junctor).index(i))
    }
  }
  const items = itemsOf(schema)
  if (items) validateSchema(items, at.child('items'))
}

/** The type that an extension asks for. */
function validateTypeFor(extension: string, type: string | undefined, at: FieldPath): void {
  const wanted = extension === 'x-kubernetes-map-type' ? 'object' : 'array'
  if (type === wanted) return
  const why = `must be ${wanted} if ${extension} is specified`
  if (!type) at.child('type').required(why)
  else at.child('type').invalid(type, why)
}

function validateMapType(schema: JSONSchemaProps, at: FieldPath): void {
  const mapType = schema['x-kubernetes-map-type']
  if (mapType === undefined) return
  validateTypeFor('x-kubernetes-map-type', schema.type, at)
  validateOneOf(mapType, ['atomic', 'granular'], at.child('x-kubernetes-map-type'))
}

function validateListType(schema: JSONSchemaProps, at: FieldPath): void {
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const items = itemsOf(schema)
  if (listType !== undefined && schema.type !== 'array') {
    validateTypeFor('x-kubernetes-list-type', schema.type, at)
  } else if (listType === 'set' && items) {
    const why = 'must be atomic as item of a list with x-kubernetes-list-type=set'
    const [innerList, innerMap] = [items['x-kubernetes-list-type'], items['x-kubernetes-map-type']]
    if (items.type === 'array' && innerList !== undefined && innerList !== 'atomic') {
      at.child('items').child('x-kubernetes-list-type').invalid(innerList, why)
    }
    if (items.type === 'object' && innerMap !== 'atomic') {
      at.child('items').child('x-kubernetes-map-type').invalid(innerList, why)
    }
  }
  const listTypeAt = at.child('x-kubernetes-list-type')
  validateOneOf(listType, ['atomic', 'set', 'map'], listTypeAt)
  if (keys.length > 0 && listType !== 'map') {
    const why = 'must be map if x-kubernetes-list-map-keys is non-empty'
    if (listType === undefined) listTypeAt.required(why)
    else listTypeAt.invalid(listType, why)
  }
  if (listType === 'map') validateMapKeys(keys, items, at)
  const isKeyed = listType === 'map' || listType === 'set'
  if (isKeyed && items?.nullable === true) {
    const why = `cannot be nullable when x-kubernetes-list-type is ${listType}`
    at.child('items').child('nullable').forbidden(why)
  }
}

function validateMapKeys(
  keys: readonly string[],
  items: JSONSchemaProps | undefined,
  at: FieldPath,
): void {
  const keysAt = at.child('x-kubernetes-list-map-keys')
  if (keys.length === 0) keysAt.required('must not be empty if x-kubernetes-list-type is map')
  if (items === undefined) {
    at.child('items').required('must have a schema if x-kubernetes-list-type is map')
    return
  }
  if (items.type !== 'object') {
    const why = "must be object if parent array's x-kubernetes-list-type is map"
    at.child('items')
      .child('type')
      .invalid(items.type ?? '', why)
    return
  }
  for (const [i, key] of keys.entries()) {
    const property = getOwn(items.properties, key)
    const propertyAt = at.child('items').child('properties').key(key)
    if (property === undefined) {
      keysAt.invalid(goList(keys), 'entries must all be names of item properties')
    } else if (property.type === 'array' || property.type === 'object') {
      const why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
      propertyAt.child('type').invalid(items.type, why)
    }
    if (keys.indexOf(key) < i) keysAt.invalid(goList(keys), 'must not contain duplicate entries')
    if (property === undefined) continue
    if (!items.required?.includes(key) && property.default === undefined) {
      propertyAt
        .child('default')
        .required(
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        )
    }
    if (property.nullable === true) {
      propertyAt
        .child('nullable')
        .forbidden('this property is in x-kubernetes-list-map-keys, so it cannot be nullable')
    }
  }
}

const lineBreak = /[\n\r]/

function validateRules(schema: JSONSchemaProps, at: FieldPath): void {
  for (const [i, validation] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    const ruleAt = at.child('x-kubernetes-validations').index(i)
    const { rule = '', message = '', messageExpression = '', reason, fieldPath = '' } = validation
    const messageAt = ruleAt.child('message')
    if (rule.trim() === '') ruleAt.child('rule').required('rule is not specified')
    else if (message !== '' && message.trim() === '') {
      messageAt.invalid(message, 'message must be non-empty if specified')
    } else if (lineBreak.test(message.trim())) {
      messageAt.invalid(message, 'message must not contain line breaks')
    } else if (lineBreak.test(rule.trim()) && message === '') {
      messageAt.required('message must be specified if rule contains line breaks')
    }
    if (messageExpression !== '' && messageExpression.trim() === '') {
      const why = 'messageExpression must be non-empty if specified'
      ruleAt.child('messageExpression').required(why)
    }
    validateOneOf(reason, ruleReasons, ruleAt.child('reason'))
    if (fieldPath !== '' && fieldPath.trim() === '') {
      ruleAt.child('fieldPath').invalid(fieldPath, 'fieldPath must be non-empty if specified')
    }
    if (lineBreak.test(fieldPath)) {
      ruleAt.child('fieldPath').invalid(fieldPath, 'fieldPath must not contain line breaks')
    }
    if (fieldPath !== '' && fieldPathText(fieldPath, schema) === undefined) {
      ruleAt.child('fieldPath').invalid(fieldPath, 'fieldPath must be a valid path')
    }
  }
}
