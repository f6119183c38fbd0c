/**
 * The model of decoding: the rules of Go's typed decoder, one field at a time from the schema, with nothing compiled, reused or
 * written in place. Leaves are read by the same readers; that they read as Go does is tested on its own.
 */
import type { DecodeContext } from '../../../components/machinery/schema/decode-context.ts'
import { readScalar, zeroScalar } from '../../../components/machinery/schema/decode-scalars.ts'
import { setOwn } from '../../../components/machinery/values/json-copy.ts'
import type {
  FieldSchema,
  ListSchema,
  MapSchema,
  Schema,
  StructSchema,
} from '../../../components/machinery/schema/schema.ts'

export interface PlainResult {
  readonly object: unknown
  /** Whether any value has the wrong type. */
  readonly isFaulty: boolean
  /** Paths of unknown fields, in the order of the value. */
  readonly unknown: readonly string[]
}

class Decoder {
  isFaulty = false
  readonly unknown: string[] = []

  /** Empty lists and maps are unset: undefined. */
  value(schema: Schema, raw: unknown, path: string): unknown {
    switch (schema.kind) {
      case 'struct':
        return schema.union === undefined
          ? this.struct(schema, raw, path)
          : this.union(schema, raw, path)
      case 'list':
        return this.list(schema, raw, path)
      case 'map':
        return this.map(schema, raw, path)
      default:
        return this.#scalar(schema, raw)
    }
  }

  struct(schema: StructSchema, raw: unknown, path: string): unknown {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return this.#fault({})
    const read = new Map<string, unknown>()
    for (const [name, value] of Object.entries(raw)) {
      const field = schema.fields.get(name)
      const inner = path === '' ? name : `${path}.${name}`
      if (field === undefined) this.unknown.push(inner)
      else if (value !== null) read.set(name, this.value(field.schema, value, inner))
    }
    const object: Record<string, unknown> = {}
    for (const [name, field] of schema.fields) {
      if (!read.has(name)) {
        if (isWrittenUnset(field)) object[name] = field.pointer ? null : zeroOf(field.schema)
      } else if (!isLeftOut(field, read.get(name))) object[name] = read.get(name) ?? null
    }
    return object
  }

  list({ items }: ListSchema, raw: unknown, path: string): unknown {
    if (!Array.isArray(raw)) return this.#fault(undefined)
    if (raw.length === 0) return undefined
    return raw.map((item: unknown, index) =>
      item === null ? zeroOf(items) : (this.value(items, item, `${path}[${index}]`) ?? null),
    )
  }

  map({ values }: MapSchema, raw: unknown, path: string): unknown {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return this.#fault(undefined)
    const entries = Object.entries(raw).sort(([a], [b]) => (a < b ? -1 : 1))
    if (entries.length === 0) return undefined
    const map: Record<string, unknown> = {}
    for (const [key, item] of entries) {
      const result = item === null ? undefined : this.value(values, item, `${path}.${key}`)
      setOwn(map, key, item === null ? zeroOf(values) : (result ?? null))
    }
    return map
  }

  /** Such structs decode themselves: nothing in them is reported as unknown. */
  union(schema: StructSchema, raw: unknown, path: string): unknown {
    const [inner, other] = ['Schema', ''].map((name) =>
      schema.own.find((field) => (field.name === 'Schema') === (name === 'Schema')),
    )
    const before = this.unknown.length
    const isBoolean = schema.union === 'schema-or-bool'
    let result: unknown = isBoolean ? false : null
    if (Array.isArray(raw)) {
      if (isBoolean) this.isFaulty = true
      else result = this.value(other?.schema as Schema, raw, path) ?? null
    } else if (typeof raw === 'object') result = this.value(inner?.schema as Schema, raw, path)
    else if (isBoolean && typeof raw === 'boolean') result = raw
    else if (isBoolean) this.isFaulty = true
    this.unknown.length = before
    return result
  }

  #scalar(schema: Exclude<Schema, StructSchema | ListSchema | MapSchema>, raw: unknown): unknown {
    const context: DecodeContext = {
      ...{ hard: undefined, saved: undefined, unconverted: undefined, unknown: undefined },
      ...{ mayReuse: false, path: [], depth: 0, owner: undefined },
    }
    const result = readScalar(schema)(raw, context)
    if (context.hard !== undefined || context.saved !== undefined) this.isFaulty = true
    return result
  }

  #fault<T>(result: T): T {
    this.isFaulty = true
    return result
  }
}

/** Go leaves out no struct, and with it no time, quantity or raw value. */
const structKinds = new Set([
  'struct',
  'Time',
  'MicroTime',
  'Quantity',
  'IntOrString',
  'RawExtension',
])

function isWrittenUnset({ schema, pointer, omitEmpty }: FieldSchema): boolean {
  return !omitEmpty || (!pointer && structKinds.has(schema.kind))
}

function isLeftOut({ schema, pointer, omitEmpty }: FieldSchema, value: unknown): boolean {
  if (!omitEmpty || pointer || structKinds.has(schema.kind)) return false
  return value === undefined || value === '' || value === 0 || value === false
}

function zeroOf(schema: Schema): unknown {
  if (schema.kind === 'list' || schema.kind === 'map') return null
  if (schema.kind !== 'struct') return zeroScalar(schema.kind)
  if (schema.union !== undefined) return schema.union === 'schema-or-bool' ? false : null
  const object: Record<string, unknown> = {}
  for (const [name, field] of schema.fields) {
    if (isWrittenUnset(field)) object[name] = field.pointer ? null : zeroOf(field.schema)
  }
  return object
}

export function plainDecode(value: unknown, schema: StructSchema): PlainResult {
  const decoder = new Decoder()
  const object = decoder.struct(schema, value, '')
  return { object, isFaulty: decoder.isFaulty, unknown: decoder.unknown }
}
