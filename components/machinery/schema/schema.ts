/**
 * Schema: the structure of a kind as upstream's Go types have it. Decoding, patching, server-side apply,
 * protobuf and OpenAPI all walk these values. Where they come from is `components/api/schemas.ts`.
 */
import type { Json } from '../objects/object.ts'

/** Leaf kinds. `RawExtension` and `JSON` hold any JSON value, `FieldsV1` any object, `any` an element of a table row. */
export type ScalarKind =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'double'
  | 'bytes'
  | 'Time'
  | 'MicroTime'
  | 'Duration'
  | 'Quantity'
  | 'IntOrString'
  | 'RawExtension'
  | 'JSON'
  | 'FieldsV1'
  | 'any'

export interface ScalarSchema {
  readonly kind: ScalarKind
  /** As Go prints the type in messages: `string`, `v1.Protocol`. */
  readonly goType: string
  /** The values upstream knows for a named string type, with whether the set is closed. */
  readonly values?: { readonly known: readonly string[]; readonly closed: boolean }
}

export interface ListSchema {
  readonly kind: 'list'
  readonly goType: string
  readonly items: Schema
  /** A named Go slice that protobuf wraps in a message with one repeated field `items`. */
  readonly wrapped: boolean
  /** Server-side apply: how elements merge. Lists without a marker are atomic. */
  readonly listType: 'atomic' | 'set' | 'map'
  /** The keys of a `map` list, else empty. */
  readonly mapKeys: readonly string[]
}

export interface MapSchema {
  readonly kind: 'map'
  readonly goType: string
  readonly values: Schema
  /** Server-side apply treats the whole map as one value. */
  readonly atomic: boolean
}

/** Structs of apiextensions that upstream writes as one of two JSON forms. */
export type UnionForm = 'schema-or-list' | 'schema-or-bool' | 'schema-or-strings'

export interface StructSchema {
  readonly kind: 'struct'
  /** Dialect-free: `core/v1.Pod`. */
  readonly name: string
  /** `Pod`: how messages name the struct that holds a field. */
  readonly goName: string
  /** `v1.Pod`. */
  readonly goType: string
  /** The JSON view: embedded structs flattened, in upstream's order. Read-only; built on first use. */
  readonly fields: ReadonlyMap<string, FieldSchema>
  /** The protobuf view: its own numbered fields, and embedded structs that are messages of their own. */
  readonly own: readonly FieldSchema[]
  readonly embedded: readonly { readonly proto: number; readonly schema: StructSchema }[]
  /** The type itself is marked atomic (`LabelSelector`); a field of the type may still say granular. */
  readonly atomic: boolean
  readonly union: UnionForm | undefined
  /** Other fields than these may hold anything (custom kinds that preserve what they do not know). */
  readonly isOpen?: boolean
}

export type Schema = ScalarSchema | ListSchema | MapSchema | StructSchema

export interface FieldSchema {
  readonly name: string
  readonly schema: Schema
  /** Protobuf field number; 0 for types without a protobuf form. */
  readonly proto: number
  /** The Go field is a pointer: a zero value that was sent stays. */
  readonly pointer: boolean
  /** Required for a client, by OpenAPI. */
  readonly required: boolean
  /** False: the field is always written, with its zero value or null when unset. */
  readonly omitEmpty: boolean
  /** Server-side apply treats the value as one leaf (list, map and struct markers taken together). */
  readonly atomic: boolean
  /** Strategic merge: `merge`, `retainKeys`; empty means replace for lists. */
  readonly patchStrategy: readonly string[]
  readonly patchMergeKey: string | undefined
  /** The default OpenAPI shows; undefined without one. */
  readonly default: Json | undefined
}

/** The schema at a dotted path of field names (`spec.template.spec`), through lists and map values; undefined if missing. */
export function schemaAt(root: Schema, path: readonly string[]): Schema | undefined {
  let schema: Schema | undefined = root
  for (const name of path) {
    while (schema?.kind === 'list') schema = schema.items
    if (schema?.kind === 'struct') schema = schema.fields.get(name)?.schema
    else if (schema?.kind === 'map') schema = schema.values
    else return undefined
  }
  return schema
}
