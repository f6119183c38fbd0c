/**
 * Apply shapes: a schema as server-side apply uses it: which values are atomic, which are owned field by field, and the keys
 * of list elements.
 */
import type { ElementKey } from './field-elements.ts'
import type { FieldSchema, ListSchema, Schema, StructSchema } from '../schema/schema.ts'

export interface StructShape {
  readonly kind: 'struct'
  /** The shape of a field; undefined for names the schema does not know. */
  field(name: string): ApplyShape | undefined
  /** Names of all fields, in order. */
  readonly names: readonly string[]
  /** Unknown names hold any JSON. */
  readonly isOpen: boolean
}

export interface ListShape {
  readonly kind: 'list'
  /** In order of name. */
  readonly keys: readonly ElementKey[]
  readonly items: ApplyShape
}

export type ApplyShape =
  /** Atomic: a scalar, or an atomic list or object. */
  | { readonly kind: 'leaf'; readonly isAtomic?: boolean }
  | StructShape
  | { readonly kind: 'map'; readonly values: ApplyShape }
  | ListShape
  | { readonly kind: 'set' }
  /** Any JSON: objects are owned key by key, everything else is a leaf. */
  | { readonly kind: 'free' }

const leaf: ApplyShape = { kind: 'leaf' }
const atomic: ApplyShape = { kind: 'leaf', isAtomic: true }
const set: ApplyShape = { kind: 'set' }
const free: ApplyShape = { kind: 'free' }

const structs = new WeakMap<StructSchema, StructShape | { readonly kind: 'free' }>()

/** The shape of a whole object; the same value each time. */
export function applyShapeOf(schema: StructSchema): StructShape {
  const shape = structShape(schema)
  if (shape.kind !== 'struct') throw new Error(`${schema.name} is no kind`)
  return shape
}

function structShape(schema: StructSchema): StructShape | { readonly kind: 'free' } {
  const known = structs.get(schema)
  if (known !== undefined) return known
  // OpenAPI gives no type to a value of several forms, so it has no known fields.
  const shape = schema.union === undefined ? fieldsShape(schema) : ({ kind: 'free' } as const)
  structs.set(schema, shape)
  return shape
}

function fieldsShape(schema: StructSchema): StructShape {
  const fields = new Map<string, ApplyShape>()
  let names: readonly string[] | undefined
  return {
    kind: 'struct',
    field: (name) => {
      const known = fields.get(name)
      if (known !== undefined) return known
      const field = schema.fields.get(name)
      if (field === undefined) return undefined
      const shape = fieldShape(field)
      fields.set(name, shape)
      return shape
    },
    get names() {
      return (names ??= [...schema.fields.keys()].sort())
    },
    isOpen: schema.isOpen === true,
  }
}

function fieldShape(field: FieldSchema): ApplyShape {
  if (field.atomic) return atomic
  const { schema } = field
  return schema.kind === 'struct' ? structShape(schema) : schemaShape(schema)
}

function schemaShape(schema: Schema): ApplyShape {
  switch (schema.kind) {
    case 'struct':
      return schema.atomic ? atomic : structShape(schema)
    case 'map':
      return schema.atomic ? atomic : { kind: 'map', values: schemaShape(schema.values) }
    case 'list':
      return listShape(schema)
    // OpenAPI has it as an object without fields, which a real server owns as one value.
    case 'RawExtension':
      return atomic
    case 'JSON':
    case 'FieldsV1':
    case 'any':
      return free
    default:
      return leaf
  }
}

/** The keys of a keyed list's elements, in order of name. */
export function elementKeysOf({ items, mapKeys }: ListSchema): ElementKey[] {
  return mapKeys.toSorted().map((name) => {
    const field = items.kind === 'struct' ? items.fields.get(name) : undefined
    return { name, default: field?.default }
  })
}

function listShape(schema: ListSchema): ApplyShape {
  if (schema.listType === 'atomic') return atomic
  if (schema.listType === 'set') return set
  let items: ApplyShape | undefined
  let keys: ElementKey[] | undefined
  return {
    kind: 'list',
    get keys() {
      return (keys ??= elementKeysOf(schema))
    },
    get items() {
      return (items ??= schemaShape(schema.items))
    },
  }
}

/** The shape of a field or key of such an object; an unknown name in a closed schema is a leaf. */
export function childShape(
  shape: StructShape | Extract<ApplyShape, { kind: 'map' | 'free' }>,
  name: string,
): ApplyShape {
  if (shape.kind === 'struct') return shape.field(name) ?? (shape.isOpen ? free : leaf)
  return shape.kind === 'map' ? shape.values : free
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for a value that is atomic where any JSON is allowed: everything but objects, absence and null. */
export function isFreeLeaf(value: unknown): boolean {
  return value !== undefined && value !== null && !isRecord(value)
}
