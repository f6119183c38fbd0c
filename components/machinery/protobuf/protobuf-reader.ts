/**
 * Protobuf to JSON values by schema: the binary form that client-go writes. Wire rules are proto2's, with upstream's own
 * encodings of times, quantities and embedded JSON. Decode validates and defaults the result, like a JSON body.
 */
import { durationText } from '../values/go-duration.ts'
import { measureJson } from '../values/json-measure.ts'
import type { FieldSchema, ScalarSchema, Schema, StructSchema } from '../schema/schema.ts'
import { ValueBudget } from '../values/value-limit.ts'

/** The bytes are not a message of that schema. */
export class ProtobufError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ProtobufError'
  }
}

const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

/** Messages nested deeper than any type of the API are not read. */
const deepest = 200

/** Nesting of embedded JSON that every later step can walk. */
const deepestJson = 1000

class Cursor {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length
  }

  /** As an unsigned number below 2^64; exact below 2^53. */
  #unsigned(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.at]
      if (byte === undefined) throw new ProtobufError('unexpected EOF')
      this.at += 1
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new ProtobufError('proto: integer overflow')
  }

  /** A signed integer; small ones, nearly all, take the short way. */
  varint(): number {
    const byte = this.bytes[this.at]
    if (byte !== undefined && byte < 0x80) {
      this.at += 1
      return byte
    }
    return Number(BigInt.asIntN(64, this.#unsigned()))
  }

  double(): number {
    const start = this.#take(8)
    return this.bytes.readDoubleLE(start)
  }

  slice(): Buffer {
    const length = this.varint()
    if (length < 0) throw new ProtobufError('proto: negative length found during unmarshaling')
    const start = this.#take(length)
    return this.bytes.subarray(start, start + length)
  }

  #take(length: number): number {
    const start = this.at
    if (start + length > this.bytes.length) throw new ProtobufError('unexpected EOF')
    this.at += length
    return start
  }

  skip(type: number): void {
    if (type === wire.varint) this.varint()
    else if (type === wire.fixed64) this.#take(8)
    else if (type === wire.bytes) this.slice()
    else if (type === wire.fixed32) this.#take(4)
    else throw new ProtobufError(`proto: illegal wireType ${type}`)
  }
}

/** Calls back with each field of a message; a field that the callback does not read is skipped. */
function eachField(
  bytes: Buffer,
  visit: (number: number, type: number, cursor: Cursor) => boolean,
): void {
  const cursor = new Cursor(bytes)
  while (!cursor.isAtEnd) {
    const tag = cursor.varint()
    const number = tag >>> 3
    const type = tag & 7
    if (number === 0) throw new ProtobufError(`proto: illegal tag ${number} (wire type ${type})`)
    if (!visit(number, type, cursor)) cursor.skip(type)
  }
}

/** Years that a timestamp's text can have: 0 to 9999. */
const firstSecond = -62_167_219_200
const lastSecond = 253_402_300_799

function readTime(bytes: Buffer, kind: 'Time' | 'MicroTime'): string | null {
  // A time that was never set is an empty message.
  if (bytes.length === 0) return null
  let seconds = 0
  let nanos = 0
  eachField(bytes, (number, type, cursor) => {
    if (type !== wire.varint || number > 2) return false
    if (number === 1) seconds = cursor.varint()
    else nanos = cursor.varint()
    return true
  })
  if (seconds < firstSecond || seconds > lastSecond || nanos < 0 || nanos >= 1e9) {
    throw new ProtobufError('time is out of range')
  }
  const text = new Date(seconds * 1000).toISOString().slice(0, 19)
  if (kind === 'Time') return `${text}Z`
  return `${text}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`
}

function readDuration(bytes: Buffer): string {
  let nanos = 0
  eachField(bytes, (number, type, cursor) => {
    if (type !== wire.varint || number !== 1) return false
    nanos = cursor.varint()
    return true
  })
  return durationText(nanos)
}

function readIntOrString(bytes: Buffer): number | string {
  let isString = false
  let int = 0
  let text = ''
  eachField(bytes, (number, type, cursor) => {
    if (number === 1 && type === wire.varint) isString = cursor.varint() === 1
    else if (number === 2 && type === wire.varint) int = cursor.varint()
    else if (number === 3 && type === wire.bytes) text = cursor.slice().toString()
    else return false
    return true
  })
  return isString ? text : int
}

/** The bytes of field 1: what Quantity, RawExtension, JSON and FieldsV1 wrap. */
function readWrapped(bytes: Buffer): Buffer {
  let inner = Buffer.alloc(0)
  eachField(bytes, (number, type, cursor) => {
    if (number !== 1 || type !== wire.bytes) return false
    inner = Buffer.from(cursor.slice())
    return true
  })
  return inner
}

function readEmbeddedJson(bytes: Buffer, budget: ValueBudget): unknown {
  const inner = readWrapped(bytes)
  if (inner.length === 0) return null
  const { depth, values } = measureJson(inner)
  if (depth > deepestJson) throw new ProtobufError('embedded JSON is nested too deep')
  budget.spend(values)
  try {
    return JSON.parse(inner.toString())
  } catch {
    throw new ProtobufError('embedded bytes are not JSON')
  }
}

function expectType(found: number, wanted: number, what: string): void {
  if (found !== wanted)
    throw new ProtobufError(`proto: wrong wireType = ${found} for field ${what}`)
}

function readScalar(schema: ScalarSchema, { type, cursor, budget }: At): unknown {
  const { kind, goType } = schema
  switch (kind) {
    case 'bool':
      expectType(type, wire.varint, goType)
      return cursor.varint() !== 0
    case 'int32':
    case 'int64':
      expectType(type, wire.varint, goType)
      return cursor.varint()
    case 'double':
      expectType(type, wire.fixed64, goType)
      return cursor.double()
    default: {
      expectType(type, wire.bytes, goType)
      const bytes = cursor.slice()
      switch (kind) {
        case 'string':
          return bytes.toString()
        case 'bytes':
          return bytes.toString('base64')
        case 'Time':
        case 'MicroTime':
          return readTime(bytes, kind)
        case 'Duration':
          return readDuration(bytes)
        case 'Quantity':
          return readWrapped(bytes).toString()
        case 'IntOrString':
          return readIntOrString(bytes)
        default:
          return readEmbeddedJson(bytes, budget)
      }
    }
  }
}

/** By protobuf number, built once per struct. */
const byNumber = new WeakMap<StructSchema, Map<number, FieldSchema | StructSchema>>()

function fieldsOf(schema: StructSchema): Map<number, FieldSchema | StructSchema> {
  let fields = byNumber.get(schema)
  if (fields === undefined) {
    fields = new Map()
    for (const field of schema.own) if (field.proto > 0) fields.set(field.proto, field)
    for (const { proto, schema: embedded } of schema.embedded) fields.set(proto, embedded)
    byNumber.set(schema, fields)
  }
  return fields
}

function readEntry(bytes: Buffer, values: Schema, at: At): [string, unknown] {
  let key = ''
  let value: unknown
  eachField(bytes, (number, type, cursor) => {
    if (number === 1) key = cursor.slice().toString()
    else if (number === 2) value = readValue(values, { ...at, type, cursor })
    else return false
    return true
  })
  return [key, value ?? emptyOf(values)]
}

/** The value of a map entry without one. */
function emptyOf(schema: Schema): unknown {
  if (schema.kind === 'list') return []
  if (schema.kind === 'struct' || schema.kind === 'map') return {}
  return schema.kind === 'string' || schema.kind === 'bytes' ? '' : null
}

interface At {
  readonly type: number
  readonly cursor: Cursor
  readonly depth: number
  readonly budget: ValueBudget
}

function readValue(schema: Schema, at: At): unknown {
  const { type, cursor, depth, budget } = at
  budget.spend()
  if (schema.kind === 'struct') {
    expectType(type, wire.bytes, schema.goType)
    return readStruct(schema, cursor.slice(), { depth: depth + 1, budget })
  }
  if (schema.kind === 'list') {
    // Only as a map's value: a message that holds the items.
    const items: unknown[] = []
    eachField(cursor.slice(), (number, itemType, inner) => {
      if (number !== 1) return false
      items.push(readValue(schema.items, { type: itemType, cursor: inner, depth, budget }))
      return true
    })
    return items
  }
  if (schema.kind === 'map') throw new ProtobufError('a map has no value form')
  return readScalar(schema, at)
}

function readInto(target: Record<string, unknown>, field: FieldSchema, at: At): void {
  const { schema, name } = field
  if (schema.kind === 'map') {
    expectType(at.type, wire.bytes, name)
    const map = (target[name] ??= Object.create(null)) as Record<string, unknown>
    const [key, value] = readEntry(at.cursor.slice(), schema.values, at)
    map[key] = value
  } else if (schema.kind === 'list' && !schema.wrapped) {
    const list = (target[name] ??= []) as unknown[]
    list.push(readValue(schema.items, at))
  } else {
    target[name] = readValue(schema, at)
  }
}

/** Structs that JSON writes as one of two forms. */
function unionValue(schema: StructSchema, value: Record<string, unknown>): unknown {
  const inner = value['Schema']
  switch (schema.union) {
    case 'schema-or-list':
      return inner ?? value['JSONSchemas'] ?? []
    case 'schema-or-bool':
      return inner ?? value['Allows'] ?? false
    case 'schema-or-strings':
      return inner ?? value['Property'] ?? []
    case undefined:
      return value
  }
}

function readStruct(
  schema: StructSchema,
  bytes: Buffer,
  { depth, budget }: Pick<At, 'depth' | 'budget'>,
): unknown {
  if (depth > deepest) throw new ProtobufError('message is nested too deep')
  const fields = fieldsOf(schema)
  const value: Record<string, unknown> = {}
  eachField(bytes, (number, type, cursor) => {
    const field = fields.get(number)
    if (field === undefined) return false
    if ('kind' in field) {
      expectType(type, wire.bytes, field.goType)
      Object.assign(value, readStruct(field, cursor.slice(), { depth: depth + 1, budget }))
    } else {
      readInto(value, field, { type, cursor, depth, budget })
    }
    return true
  })
  return unionValue(schema, value)
}

/**
 * Reads one message of the schema; unknown field numbers are skipped. Throws a ProtobufError for anything else, and
 * TooManyValuesError for one of more than `mostValues`.
 */
export function readProtobuf(
  schema: StructSchema,
  bytes: Buffer,
  mostValues = Infinity,
): Record<string, unknown> {
  const budget = new ValueBudget(mostValues)
  return readStruct(schema, bytes, { depth: 0, budget }) as Record<string, unknown>
}

/** The envelope every protobuf body has (spec: "Protobuf envelope"). */
export interface ProtobufEnvelope {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Buffer
  readonly contentEncoding: string
  readonly contentType: string
}

/** The four bytes before the envelope. */
export const protobufMagic = Buffer.from([0x6b, 0x38, 0x73, 0x00])

/** Opens the envelope; throws a ProtobufError when the magic bytes or the message are not there. */
export function readProtobufEnvelope(body: Buffer): ProtobufEnvelope {
  if (body.length === 0) throw new ProtobufError('empty data')
  if (!body.subarray(0, protobufMagic.length).equals(protobufMagic)) {
    throw new ProtobufError(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    )
  }
  if (body.length === protobufMagic.length) throw new ProtobufError('empty body')
  const envelope = {
    apiVersion: '',
    kind: '',
    raw: Buffer.alloc(0),
    contentEncoding: '',
    contentType: '',
  }
  eachField(body.subarray(protobufMagic.length), (number, type, cursor) => {
    if (type !== wire.bytes || number > 4) return false
    const bytes = cursor.slice()
    if (number === 1) {
      eachField(bytes, (inner, innerType, from) => {
        if (innerType !== wire.bytes || inner > 2) return false
        const text = from.slice().toString()
        if (inner === 1) envelope.apiVersion = text
        else envelope.kind = text
        return true
      })
    } else if (number === 2) envelope.raw = Buffer.from(bytes)
    else if (number === 3) envelope.contentEncoding = bytes.toString()
    else envelope.contentType = bytes.toString()
    return true
  })
  return envelope
}
