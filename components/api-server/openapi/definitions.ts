/** Definitions: schemas of structs as JSON schema, in the form of OpenAPI 2 or 3, with upstream's extensions. */
import type { Dialect } from '../../api/dialect.ts'
import type {
  FieldSchema,
  ListSchema,
  ScalarSchema,
  Schema,
  StructSchema,
} from '../../machinery/schema/schema.ts'
import type { Descriptions } from './descriptions.ts'
import { definitionName, extension, scalarDefinitionName } from './names.ts'

export type JsonObject = Record<string, unknown>

/** A kind as `x-kubernetes-group-version-kind` names it. */
export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export interface DefinitionContext {
  readonly version: 2 | 3
  readonly dialect: Dialect
  /** Whether CBOR is served. */
  readonly cbor: boolean
  readonly texts: Descriptions
  /** The kinds that a struct is, by its name; none for parts of kinds. */
  kindsOf(schemaName: string): readonly GroupVersionKind[]
}

const scalarTypes: Partial<Record<ScalarSchema['kind'], JsonObject>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  any: { type: 'object' },
}

const zeros: Partial<Record<ScalarSchema['kind'], unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  double: 0,
}

/** Where a definition of that name is found from inside the document. */
export function reference(version: 2 | 3, name: string): JsonObject {
  return { $ref: `#/${version === 2 ? 'definitions' : 'components/schemas'}/${name}` }
}

/** Collects the definitions of the structs given and of everything they name, in order of name. */
export function definitionsOf(
  roots: readonly StructSchema[],
  context: DefinitionContext,
): Record<string, JsonObject> {
  const found = new Map<string, JsonObject>()
  const open: Schema[] = [...roots]
  const want = (schema: Schema) => {
    open.push(schema)
  }
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    const name = nameOf(schema, context.dialect)
    if (name === undefined || found.has(name)) continue
    found.set(
      name,
      schema.kind === 'struct'
        ? structDefinition(schema, context, want)
        : scalarDefinition(schema as ScalarSchema, context),
    )
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** The name of a schema that is a definition of its own. */
function nameOf(schema: Schema, dialect: Dialect): string | undefined {
  if (schema.kind === 'struct') return definitionName(dialect, schema.name)
  if (schema.kind === 'list' || schema.kind === 'map' || scalarTypes[schema.kind] !== undefined) {
    return undefined
  }
  return scalarDefinitionName(dialect, schema.kind)
}

function structDefinition(
  schema: StructSchema,
  context: DefinitionContext,
  want: (schema: Schema) => void,
): JsonObject {
  const description = context.texts.struct(schema.name)
  const head = description === '' ? {} : { description }
  if (schema.union !== undefined) return head
  const properties: JsonObject = {}
  const required: string[] = []
  for (const field of schema.fields.values()) {
    properties[field.name] = property(schema, field, context, want)
    if (field.required) required.push(field.name)
  }
  const kinds = context.kindsOf(schema.name)
  return {
    ...head,
    ...(required.length === 0 ? {} : { required: required.toSorted() }),
    type: 'object',
    ...(schema.fields.size === 0 ? {} : { properties }),
    ...(kinds.length === 0 ? {} : { [`${extension}group-version-kind`]: kinds }),
    ...(schema.atomic ? { [`${extension}map-type`]: 'atomic' } : {}),
  }
}

const partTexts: Readonly<Record<string, string>> = {
  metadata:
    'Standard metadata of every object: its name, labels and what the server keeps about it.',
  spec: 'The state that is wanted.',
  status: 'The state as it was last observed. Written by the system; clients read it.',
}

/** For fields whose source has no text of their own: a general one, or the first sentence about their type. */
function partText(name: string, schema: StructSchema, context: DefinitionContext): string {
  if (Object.hasOwn(partTexts, name)) return partTexts[name] ?? ''
  const text = context.texts.struct(schema.name)
  return /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text
}

function property(
  owner: StructSchema,
  field: FieldSchema,
  context: DefinitionContext,
  want: (schema: Schema) => void,
): JsonObject {
  const { schema } = field
  const own = context.texts.field(owner.name, field.name)
  const description =
    own !== '' || schema.kind !== 'struct' ? own : partText(field.name, schema, context)
  return {
    ...(description === '' ? {} : { description }),
    ...typeOf(schema, context, want),
    ...(context.version === 3 ? defaultOf(field) : {}),
    ...markers(field),
  }
}

function typeOf(
  schema: Schema,
  context: DefinitionContext,
  want: (schema: Schema) => void,
): JsonObject {
  const name = nameOf(schema, context.dialect)
  if (name !== undefined) {
    want(schema)
    const target = reference(context.version, name)
    return context.version === 3 ? { allOf: [target] } : target
  }
  if (schema.kind === 'list') {
    return { type: 'array', items: element(schema.items, context, want) }
  }
  if (schema.kind === 'map') {
    return { type: 'object', additionalProperties: element(schema.values, context, want) }
  }
  const { values } = schema as ScalarSchema
  const isEnum = values?.closed === true
  return {
    ...scalarTypes[(schema as ScalarSchema).kind],
    ...(isEnum ? { enum: values.known.toSorted() } : {}),
  }
}

function element(
  schema: Schema,
  context: DefinitionContext,
  want: (schema: Schema) => void,
): JsonObject {
  const type = typeOf(schema, context, want)
  if (context.version === 2) return type
  if (schema.kind === 'struct') return { ...type, default: {} }
  const zero = zeros[(schema as ScalarSchema).kind]
  if (zero === undefined)
    return type['allOf'] === undefined ? type : ((type['allOf'] as JsonObject[])[0] ?? {})
  return { ...type, default: zero }
}

/** Stated defaults, and the zero values of fields that are always there. */
function defaultOf({ schema, pointer, omitEmpty, default: stated }: FieldSchema): JsonObject {
  if (stated !== undefined) return { default: stated }
  if (pointer) return {}
  if (schema.kind === 'struct' && schema.union === undefined) return { default: {} }
  const zero = zeros[(schema as ScalarSchema).kind]
  return omitEmpty || zero === undefined ? {} : { default: zero }
}

function markers(field: FieldSchema): JsonObject {
  const { schema, patchStrategy, patchMergeKey } = field
  const marks: JsonObject = {}
  if (schema.kind === 'list' && field.name !== 'items') Object.assign(marks, listMarkers(schema))
  if (schema.kind === 'map' && schema.atomic) marks[`${extension}map-type`] = 'atomic'
  if (schema.kind === 'struct' && schema.atomic !== field.atomic) {
    marks[`${extension}map-type`] = field.atomic ? 'atomic' : 'granular'
  }
  if (patchMergeKey !== undefined) marks[`${extension}patch-merge-key`] = patchMergeKey
  if (patchStrategy.length > 0) marks[`${extension}patch-strategy`] = patchStrategy.join(',')
  return marks
}

function listMarkers({ listType, mapKeys }: ListSchema): JsonObject {
  return {
    ...(mapKeys.length === 0 ? {} : { [`${extension}list-map-keys`]: mapKeys }),
    [`${extension}list-type`]: listType,
  }
}

function scalarDefinition({ kind }: ScalarSchema, { version }: DefinitionContext): JsonObject {
  switch (kind) {
    case 'Time':
    case 'MicroTime':
      return { type: 'string', format: 'date-time' }
    case 'Duration':
      return { type: 'string' }
    case 'Quantity':
      return version === 2
        ? { type: 'string' }
        : { oneOf: [{ type: 'string' }, { type: 'number' }] }
    case 'IntOrString':
      return version === 2
        ? { type: 'string', format: 'int-or-string' }
        : { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] }
    case 'JSON':
      return { description: 'Any valid JSON value.' }
    default:
      return { type: 'object' }
  }
}
