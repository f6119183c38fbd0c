/**
 * JSON values to protobuf by schema, byte for byte what upstream's generated code writes: fields in order of number, zero
 * values of fields that are no pointers written out, map entries in order of key, messages built from their end to the front.
 */
import { durationNanos } from '../values/go-duration.ts'
import type { FieldSchema, ScalarSchema, Schema, StructSchema } from '../schema/schema.ts'
import { protobufMagic } from './protobuf-reader.ts'
import { goJson } from '../values/go-json.ts'
import { RawJson } from '../values/raw-json.ts'

const wire = { varint: 0, fixed64: 1, bytes: 2 } as const

/** The buffer starts with this, and goes back to it after a message that needed more than `largestKept`. */
const firstSize = 64 * 1024
const largestKept = 4 * 1024 * 1024

/** Texts up to this length are written by hand, which is faster than a call while they are ASCII. */
const shortText = 32

/**
 * The one message being written, filled from its end. One for the module: writing never waits, and functions on variables of
 * the module run twice as fast as methods of an object.
 */
let buffer = Buffer.allocUnsafe(firstSize)
/** Where the last written byte stands. */
let at = firstSize

/** How many bytes were written so far: the difference of two is the length of what came between. */
function written(): number {
  return buffer.length - at
}

function reserve(count: number): void {
  if (at >= count) return
  const length = written()
  const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, length + count))
  buffer.copy(larger, larger.length - length, at)
  buffer = larger
  at = larger.length - length
}

function putByte(value: number): void {
  if (at < 1) reserve(1)
  at -= 1
  buffer[at] = value
}

/** A whole number, negative ones in ten bytes. */
function putVarint(value: number): void {
  if (value >= 0 && value < 0x80) {
    putByte(value)
  } else if (value >= 0 && value < 0x4000) {
    reserve(2)
    at -= 2
    buffer[at] = (value & 0x7f) | 0x80
    buffer[at + 1] = value >>> 7
  } else if (value >= 0) {
    const length = varintLength(value)
    reserve(length)
    at -= length
    let rest = value
    for (let index = at; index < at + length - 1; index += 1) {
      buffer[index] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    buffer[at + length - 1] = rest
  } else {
    putNegative(BigInt.asUintN(64, BigInt(Math.trunc(value))))
  }
}

function putNegative(value: bigint): void {
  let rest = value
  reserve(10)
  at -= 10
  for (let index = at; index < at + 9; index += 1) {
    buffer[index] = Number(rest & 0x7fn) | 0x80
    rest >>= 7n
  }
  buffer[at + 9] = 1
}

function putDouble(value: number): void {
  reserve(8)
  at -= 8
  buffer.writeDoubleLE(value, at)
}

function putBytes(value: Buffer): void {
  reserve(value.length)
  at -= value.length
  value.copy(buffer, at)
}

/** As putBytes, for a few bytes: a loop is faster than a call. */
function putFew(value: Buffer): void {
  reserve(value.length)
  for (let index = value.length - 1; index >= 0; index -= 1) {
    at -= 1
    buffer[at] = value[index] ?? 0
  }
}

function putText(value: string): void {
  if (value.length <= shortText && isShortAsciiPut(value)) return
  const length = Buffer.byteLength(value)
  reserve(length)
  at -= length
  buffer.write(value, at)
}

function isShortAsciiPut(value: string): boolean {
  reserve(value.length)
  const start = at - value.length
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index)
    if (code >= 0x80) return false
    buffer[start + index] = code
  }
  at = start
  return true
}

function clear(): void {
  if (buffer.length > largestKept) buffer = Buffer.allocUnsafe(firstSize)
  at = buffer.length
}

/** A copy of what was written; then there is nothing again. */
function take(): Buffer {
  const result = Buffer.from(buffer.subarray(at))
  clear()
  return result
}

/** A copy that may stay for good: one in Node's pool of small buffers would keep 64 KB of it. */
function lasting(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

type Write = (value: unknown) => void

/** Puts the length and the tag before what was written since `from`. */
function close(from: number, tag: number): void {
  putVarint(written() - from)
  putVarint(tag)
}

/** Upstream leaves out the parts of a second that its JSON does not show. */
function writeTime(value: string, kind: 'Time' | 'MicroTime'): void {
  const ms = Date.parse(value)
  // A time that was never set is an empty message.
  if (Number.isNaN(ms)) return
  const digits = kind === 'Time' ? '' : (/\.(\d+)/.exec(value)?.[1] ?? '')
  putVarint(Number(digits.slice(0, 6).padEnd(6, '0')) * 1000)
  putByte(0x10)
  putVarint(Math.floor(ms / 1000))
  putByte(0x08)
}

function writeIntOrString(value: unknown): void {
  const from = written()
  if (typeof value === 'string') putText(value)
  close(from, 0x1a)
  putVarint(typeof value === 'number' ? value : 0)
  putByte(0x10)
  putByte(typeof value === 'string' ? 1 : 0)
  putByte(0x08)
}

interface ScalarWriter {
  readonly wireType: number
  /** Writes what stands between tag or length and the next field; strings and messages without their length. */
  readonly write: Write
}

function writeText(value: unknown): void {
  if (typeof value === 'string') putText(value)
}

function writeBase64(value: unknown): void {
  if (typeof value === 'string') putBytes(Buffer.from(value, 'base64'))
}

function writeQuantity(value: unknown): void {
  const from = written()
  putText(typeof value === 'string' ? value : '0')
  close(from, 0x0a)
}

function writeJson(value: unknown): void {
  if (value === undefined || value === null) return
  const from = written()
  putText(value instanceof RawJson ? value.text : JSON.stringify(value))
  close(from, 0x0a)
}

/** The bytes that clients keep as they are, and compare: those that Go would write. */
function writeRaw(value: unknown): void {
  if (value === undefined || value === null) return
  const from = written()
  putText(goJson(value))
  close(from, 0x0a)
}

function scalarWriter({ kind }: ScalarSchema): ScalarWriter {
  switch (kind) {
    case 'bool':
      return { wireType: wire.varint, write: (value) => putByte(value === true ? 1 : 0) }
    case 'int32':
    case 'int64':
      return {
        wireType: wire.varint,
        write: (value) => putVarint(typeof value === 'number' ? value : 0),
      }
    case 'double':
      return {
        wireType: wire.fixed64,
        write: (value) => putDouble(typeof value === 'number' ? value : 0),
      }
    case 'string':
      return { wireType: wire.bytes, write: writeText }
    case 'bytes':
      return { wireType: wire.bytes, write: writeBase64 }
    case 'Time':
    case 'MicroTime':
      return {
        wireType: wire.bytes,
        write: (value) => {
          if (typeof value === 'string') writeTime(value, kind)
        },
      }
    case 'Duration':
      return {
        wireType: wire.bytes,
        write: (value) => {
          putVarint(typeof value === 'string' ? durationNanos(value) : 0)
          putByte(0x08)
        },
      }
    case 'Quantity':
      return { wireType: wire.bytes, write: writeQuantity }
    case 'IntOrString':
      return { wireType: wire.bytes, write: writeIntOrString }
    case 'RawExtension':
      return { wireType: wire.bytes, write: writeRaw }
    case 'JSON':
    case 'FieldsV1':
    case 'any':
      return { wireType: wire.bytes, write: writeJson }
  }
}

/** Repeated fields that stand for a whole value: a list as the value of a map or of a named slice. */
function wrappedListWriter(items: Schema): Write {
  const item = valueWriter(items, 1)
  return (value) => {
    const list = Array.isArray(value) ? value : []
    for (let index = list.length - 1; index >= 0; index -= 1) item(list[index])
  }
}

/** Writes a value with its tag, whatever it is: a missing one as the zero value. */
function valueWriter(schema: Schema, number: number): Write {
  if (schema.kind === 'struct' || schema.kind === 'list') {
    const tag = number * 8 + wire.bytes
    const inner = schema.kind === 'struct' ? structWriter(schema) : wrappedListWriter(schema.items)
    return (value) => {
      const from = written()
      inner(value)
      close(from, tag)
    }
  }
  if (schema.kind === 'map') throw new Error(`${schema.goType} has no value form`)
  const { wireType, write } = scalarWriter(schema)
  const tag = number * 8 + wireType
  if (wireType !== wire.bytes) {
    return (value) => {
      write(value)
      putVarint(tag)
    }
  }
  return (value) => {
    const from = written()
    write(value)
    close(from, tag)
  }
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null
}

function mapWriter(values: Schema, number: number): Write {
  const tag = number * 8 + wire.bytes
  const writeKey = valueWriter({ kind: 'string', goType: 'string' }, 1)
  const writeValue = valueWriter(values, 2)
  const skipsMissing = values.kind === 'bytes'
  return (value) => {
    if (typeof value !== 'object' || value === null) return
    const map = value as Record<string, unknown>
    const keys = Object.keys(map).sort()
    for (let index = keys.length - 1; index >= 0; index -= 1) {
      const key = keys[index] ?? ''
      const from = written()
      if (!skipsMissing || !isMissing(map[key])) writeValue(map[key])
      writeKey(key)
      close(from, tag)
    }
  }
}

/** A field of a struct; the value is the field's. */
function fieldWriter(field: FieldSchema): Write {
  const { schema, proto, pointer } = field
  if (schema.kind === 'map') return mapWriter(schema.values, proto)
  if (schema.kind === 'list' && !schema.wrapped) {
    const item = valueWriter(schema.items, proto)
    return (value) => {
      if (!Array.isArray(value)) return
      for (let index = value.length - 1; index >= 0; index -= 1) item(value[index])
    }
  }
  const write = valueWriter(schema, proto)
  const isOptional = pointer || schema.kind === 'list' || schema.kind === 'bytes'
  if (!isOptional) return alwaysWriter(write)
  return (value) => {
    if (!isMissing(value)) write(value)
  }
}

/** A field that is written even when it is missing, then with the same bytes each time: most fields of most objects are. */
function alwaysWriter(write: Write): Write {
  let zero: Buffer | undefined
  return (value) => {
    if (!isMissing(value)) {
      write(value)
    } else if (zero !== undefined) {
      putFew(zero)
    } else {
      const before = written()
      write(undefined)
      zero = lasting(buffer.subarray(at, buffer.length - before))
    }
  }
}

/** The message's own fields of a value that JSON writes as one of two forms. */
function unionFields(schema: StructSchema, value: unknown): unknown {
  const isMessage = typeof value === 'object' && value !== null && !Array.isArray(value)
  switch (schema.union) {
    case undefined:
      return value
    case 'schema-or-list':
      return isMessage ? { Schema: value } : { JSONSchemas: value }
    case 'schema-or-bool':
      return isMessage ? { Schema: value, Allows: true } : { Allows: value }
    case 'schema-or-strings':
      return isMessage ? { Schema: value } : { Property: value }
  }
}

const writers = new WeakMap<StructSchema, Write>()

/** The writer of a struct's fields, made when first used: types refer to themselves. */
function structWriter(schema: StructSchema): Write {
  const known = writers.get(schema)
  if (known !== undefined) return known
  let fields: readonly NamedWrite[] | undefined
  const write: Write = (value) => {
    fields ??= fieldsOf(schema)
    const own = schema.union === undefined ? value : unionFields(schema, value)
    const record = (own ?? {}) as Record<string, unknown>
    for (const field of fields) {
      field.write(field.name === undefined ? record : record[field.name])
    }
  }
  writers.set(schema, write)
  return write
}

interface NamedWrite {
  /** Undefined for an embedded struct, whose fields are those of the value itself. */
  readonly name: string | undefined
  readonly number: number
  readonly write: Write
}

/** Last field first, since messages are built from the end. */
function fieldsOf(schema: StructSchema): readonly NamedWrite[] {
  const own = schema.own
    .filter(({ proto }) => proto > 0)
    .map((field) => ({ name: field.name, number: field.proto, write: fieldWriter(field) }))
  const embedded = schema.embedded.map(({ proto, schema: inner }) => ({
    name: undefined,
    number: proto,
    write: valueWriter(inner, proto),
  }))
  return [...own, ...embedded].sort((a, b) => b.number - a.number)
}

/**
 * One message of the schema, without envelope: kind and apiVersion are not in it. The value must have come out of decode; what
 * does not fit its type is written as the zero value.
 */
export function writeProtobuf(schema: StructSchema, value: unknown): Buffer {
  // A write that failed half way left something behind.
  clear()
  structWriter(schema)(value)
  return take()
}

/** The start of a field that holds bytes: its tag and the length of what follows. */
export function protobufHead(number: number, length: number): Buffer {
  putVarint(length)
  putVarint(number * 8 + wire.bytes)
  return take()
}

function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1
  return length
}

/** The length of a field that holds so many bytes, its tag and its length's own included. */
export function protobufFieldLength(number: number, length: number): number {
  return varintLength(number * 8) + varintLength(length) + length
}

const wrapperTail = Buffer.from([0x1a, 0, 0x22, 0])

/** What stands around the message of an object: magic bytes, kind and apiVersion, the message's length; and after it two empty texts. */
export interface ProtobufWrapper {
  head(length: number): Buffer
  readonly tail: Buffer
}

/** The envelope of every protobuf body (spec: "Protobuf envelope"; upstream: runtime.Unknown). */
export function protobufWrapper(apiVersion: string, kind: string): ProtobufWrapper {
  const typeMeta = Buffer.concat(
    [apiVersion, kind].flatMap((text, index) => {
      const bytes = Buffer.from(text)
      return [protobufHead(index + 1, bytes.length), bytes]
    }),
  )
  const start = lasting(Buffer.concat([protobufMagic, protobufHead(1, typeMeta.length), typeMeta]))
  return { head: (length) => Buffer.concat([start, protobufHead(2, length)]), tail: wrapperTail }
}
