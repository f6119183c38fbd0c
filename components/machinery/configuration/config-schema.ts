/** Schemas of configuration files, written by hand, since the API does not serve these kinds. Types and names are Go's, as messages show them. */
import type { FieldSchema, ScalarKind, Schema, StructSchema } from '../schema/schema.ts'

const goTypes: Partial<Record<ScalarKind, string>> = { double: 'float64' }

const scalarOf = (kind: ScalarKind): Schema => ({ kind, goType: goTypes[kind] ?? kind })

export const text = scalarOf('string')
export const flag = scalarOf('bool')
export const int32 = scalarOf('int32')
export const int64 = scalarOf('int64')
export const float = scalarOf('double')
/** Any JSON: a document that something else reads. */
export const anything = scalarOf('RawExtension')
export const texts: Schema = {
  kind: 'map',
  goType: 'map[string]string',
  values: text,
  atomic: false,
}
/** Upstream's durations are texts like `30s`; reading a number fails with upstream's message. */
export const durationText = scalarOf('string')

export function list(items: Schema): Schema {
  const goType = `[]${items.goType}`
  return { kind: 'list', goType, items, wrapped: false, listType: 'atomic', mapKeys: [] }
}

/** A struct whose fields are pointers: sent zero values stay. An empty list counts as absent. */
export function struct(goName: string, fields: Readonly<Record<string, Schema>>): StructSchema {
  const own = Object.entries(fields).map(([name, schema]): FieldSchema => ({
    name,
    schema,
    proto: 0,
    pointer: schema.kind !== 'list',
    required: false,
    omitEmpty: true,
    atomic: false,
    patchStrategy: [],
    patchMergeKey: undefined,
    default: undefined,
  }))
  return {
    kind: 'struct',
    name: `config/${goName}`,
    goName,
    goType: `v1.${goName}`,
    fields: new Map(own.map((field) => [field.name, field])),
    own,
    embedded: [],
    atomic: false,
    union: undefined,
  }
}

/** The schema of a whole file. */
export function document(goName: string, fields: Readonly<Record<string, Schema>>): StructSchema {
  return struct(goName, { kind: text, apiVersion: text, ...fields })
}
