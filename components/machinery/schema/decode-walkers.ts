/** The compiled walkers behind decode.ts: one closure per struct, made when first needed. Nulls never reach a walker. */
import { mismatch, reportUnknown, type DecodeContext, type Walk } from './decode-context.ts'
import { readScalar, zeroScalar } from './decode-scalars.ts'
import { setOwn } from '../values/json-copy.ts'
import type { FieldSchema, ListSchema, MapSchema, Schema, StructSchema } from './schema.ts'

interface CompiledField {
  readonly name: string
  readonly index: number
  readonly walk: Walk
  /** A result equal to this is not written. */
  readonly skip: unknown
  /** Makes the value that an unset field gets. */
  readonly fill: (() => unknown) | undefined
}

interface Shape {
  readonly schema: StructSchema
  readonly fields: readonly CompiledField[]
  readonly byName: ReadonlyMap<string, CompiledField>
  /** Fields that are written even when unset, in order. */
  readonly fills: readonly CompiledField[]
  /** As many undefineds as fields. */
  readonly empty: readonly undefined[]
}

const nothing = Symbol('no value is skipped')
const compiled = new WeakMap<StructSchema, Walk>()
const shapes = new WeakMap<StructSchema, Shape>()

/** The walker of a struct; cheap after the first call. */
export function compileStruct(schema: StructSchema): Walk {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  let shape: Shape | undefined
  const walk: Walk =
    schema.union === undefined
      ? (value, context) => walkStruct((shape ??= shapeOf(schema)), value, context)
      : compileUnion(schema)
  compiled.set(schema, walk)
  return walk
}

function shapeOf(schema: StructSchema): Shape {
  const known = shapes.get(schema)
  if (known !== undefined) return known
  const fields = [...schema.fields.values()].map(compileField)
  const shape = {
    schema,
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    fills: fields.filter(({ fill }) => fill !== undefined),
    empty: fields.map(() => undefined),
  }
  shapes.set(schema, shape)
  return shape
}

function compileField(field: FieldSchema, index: number): CompiledField {
  const { name, schema } = field
  return { name, index, walk: compile(schema), skip: skippedValue(field), fill: fillOf(field) }
}

function skippedValue({ schema, pointer, omitEmpty }: FieldSchema): unknown {
  if (!omitEmpty || pointer) return nothing
  if (schema.kind === 'list' || schema.kind === 'map') return undefined
  if (schema.kind === 'bytes') return ''
  const zero = schema.kind === 'struct' ? undefined : zeroScalar(schema.kind)
  const isDroppable = zero === '' || zero === 0 || zero === false
  return isDroppable && schema.kind !== 'IntOrString' ? zero : nothing
}

/** Go leaves out no struct, and with it no time, quantity or raw value, unless it is a pointer. */
function fillOf({ schema, pointer, omitEmpty }: FieldSchema): (() => unknown) | undefined {
  if (pointer) return omitEmpty ? undefined : () => null
  switch (schema.kind) {
    case 'struct':
    case 'Time':
    case 'MicroTime':
    case 'Quantity':
    case 'IntOrString':
    case 'RawExtension':
      return () => zeroOf(schema)
    default:
      return omitEmpty ? undefined : () => zeroOf(schema)
  }
}

/** Go's output for an unset value. */
function zeroOf(schema: Schema): unknown {
  if (schema.kind === 'list' || schema.kind === 'map') return null
  if (schema.kind !== 'struct') return zeroScalar(schema.kind)
  if (schema.union !== undefined) return schema.union === 'schema-or-bool' ? false : null
  const object: Record<string, unknown> = {}
  for (const field of shapeOf(schema).fills) object[field.name] = field.fill?.()
  return object
}

function compile(schema: Schema): Walk {
  if (schema.kind === 'struct') return compileStruct(schema)
  if (schema.kind === 'list') return compileList(schema)
  if (schema.kind === 'map') return compileMap(schema)
  return readScalar(schema)
}

function walkStruct(shape: Shape, value: unknown, context: DecodeContext): unknown {
  if (typeof value !== 'object' || Array.isArray(value)) {
    mismatch(context, value, shape.schema)
    return {}
  }
  const { byName, fills } = shape
  const { path, owner } = context
  const input = value as Record<string, unknown>
  const { depth } = context
  /** Undefined while the input itself will do: what typed clients send is mostly canonical. */
  let object: Record<string, unknown> | undefined = context.mayReuse ? undefined : {}
  let slots: unknown[] | undefined
  let last = -1
  let nextFill = 0
  context.owner = shape.schema
  context.depth = depth + 1
  for (const key in input) {
    const field = byName.get(key)
    const raw = input[key]
    if (field === undefined || raw === null || raw === undefined) {
      object ??= copiedBefore(key, input)
      if (field === undefined && context.unknown !== undefined) reportUnknown(context, key)
      continue
    }
    path[depth] = key
    const result = field.walk(raw, context)
    const { index } = field
    if (object === undefined) {
      const fill = fills[nextFill]
      const isInPlace = index > last && (fill === undefined || fill.index >= index)
      if (isInPlace && result !== field.skip && result !== undefined) {
        if (fill?.index === index) nextFill += 1
        last = index
        if (result !== raw) input[key] = result
        continue
      }
      object = copiedBefore(key, input)
    }
    if (slots === undefined && index < last) slots = slotsOf(shape, object)
    if (slots === undefined) {
      last = index
      for (; nextFill < fills.length; nextFill += 1) {
        const fill = fills[nextFill] as CompiledField
        if (fill.index >= index) break
        if (object[fill.name] === undefined) object[fill.name] = fill.fill?.()
      }
      if (result !== field.skip) object[key] = result === undefined ? null : result
    } else if (result !== field.skip) slots[index] = result === undefined ? null : result
  }
  context.owner = owner
  context.depth = depth
  if (slots !== undefined) return fromSlots(shape, slots)
  object ??= input
  for (; nextFill < fills.length; nextFill += 1) {
    const fill = fills[nextFill] as CompiledField
    if (object[fill.name] === undefined) object[fill.name] = fill.fill?.()
  }
  return object
}

/** The fields that come before `key`. */
function copiedBefore(key: string, input: Record<string, unknown>): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const name in input) {
    if (name === key) break
    object[name] = input[name]
  }
  return object
}

/** The values written so far, by field index: used once keys turn out not to come in upstream's order. */
function slotsOf(shape: Shape, object: Record<string, unknown>): unknown[] {
  const slots: unknown[] = shape.empty.slice()
  for (const key in object) slots[shape.byName.get(key)?.index ?? -1] = object[key]
  return slots
}

function fromSlots(shape: Shape, slots: readonly unknown[]): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  const { fields } = shape
  for (let index = 0; index < fields.length; index += 1) {
    const value = slots[index]
    const field = fields[index] as CompiledField
    if (value !== undefined) object[field.name] = value
    else if (field.fill !== undefined) object[field.name] = field.fill()
  }
  return object
}

function compileList(schema: ListSchema): Walk {
  const walk = compile(schema.items)
  const { items } = schema
  return (value, context) => {
    if (!Array.isArray(value)) {
      mismatch(context, value, schema)
      return undefined
    }
    if (value.length === 0) return undefined
    const { path, depth } = context
    const list: unknown[] = context.mayReuse ? value : []
    context.depth = depth + 1
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index]
      path[depth] = index
      list[index] =
        item === null || item === undefined ? zeroOf(items) : (walk(item, context) ?? null)
    }
    context.depth = depth
    return list
  }
}

function compileMap(schema: MapSchema): Walk {
  const walk = compile(schema.values)
  const { values } = schema
  return (value, context) => {
    if (typeof value !== 'object' || Array.isArray(value)) {
      mismatch(context, value, schema)
      return undefined
    }
    const { path, depth } = context
    const input = value as Record<string, unknown>
    const keys = Object.keys(input)
    if (keys.length === 0) return undefined
    const isInPlace = isSorted(keys) && context.mayReuse
    if (!isInPlace) keys.sort(byBytes)
    const map: Record<string, unknown> = isInPlace ? input : {}
    context.depth = depth + 1
    for (const key of keys) {
      const item = input[key]
      path[depth] = `\0${key}`
      const result =
        item === null || item === undefined ? zeroOf(values) : (walk(item, context) ?? null)
      if (result !== item || !isInPlace) setOwn(map, key, result)
    }
    context.depth = depth
    return map
  }
}

/** Upstream writes maps in the order of their keys' bytes. */
function isSorted(keys: readonly string[]): boolean {
  for (let index = 1; index < keys.length; index += 1) {
    if ((keys[index - 1] as string) > (keys[index] as string)) return false
  }
  return true
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Unions decode themselves upstream, so nothing inside is reported as unknown. */
function compileUnion(schema: StructSchema): Walk {
  const inner = schema.own.find(({ name }) => name === 'Schema')?.schema as StructSchema
  const other = schema.own.find(({ name }) => name !== 'Schema')?.schema as Schema
  const list = schema.union === 'schema-or-bool' ? undefined : compile(other)
  return (value, context) => {
    const quiet: DecodeContext = { ...context, unknown: undefined }
    let result: unknown = schema.union === 'schema-or-bool' ? false : null
    if (Array.isArray(value)) result = list?.(value, quiet) ?? result
    else if (typeof value === 'object') result = compileStruct(inner)(value, quiet)
    else if (schema.union === 'schema-or-bool' && typeof value === 'boolean') result = value
    if (
      schema.union === 'schema-or-bool' &&
      (Array.isArray(value) || !/^(?:object|boolean)$/.test(typeof value))
    ) {
      context.hard ??= 'boolean or JSON schema expected'
    }
    context.hard ??= quiet.hard
    context.saved ??= quiet.saved
    return result
  }
}
