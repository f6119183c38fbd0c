/** The wire form of small protobuf messages, field by field (protobuf.dev/programming-guides/encoding). */

/**
 * Bytes or a message, a message that is written with the one around it, a text, an integer or a boolean. Zeros, empty texts, false
 * and undefined are left out.
 */
export type FieldValue = Buffer | ProtobufPart | string | number | boolean | undefined

type NumberedField = readonly [number: number, value: FieldValue]

/** A message within another one. */
export interface ProtobufPart {
  readonly fields: readonly NumberedField[]
  readonly length: number
}

export interface ProtobufField {
  readonly number: number
  /** Of integers and booleans; a view of the message's bytes for the others. */
  readonly value: number | Buffer
}

const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1
  return length
}

function putVarint(target: Buffer, from: number, value: number): number {
  let at = from
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) target[at++] = (rest % 0x80) | 0x80
  target[at] = rest
  return at + 1
}

type PresentValue = Exclude<FieldValue, undefined>

function isPresent(value: FieldValue): value is PresentValue {
  return value !== undefined && value !== '' && value !== 0 && value !== false
}

function isVarint(value: PresentValue): value is number | boolean {
  return typeof value === 'number' || typeof value === 'boolean'
}

function bytesOf(value: Exclude<PresentValue, number | boolean>): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : value.length
}

/** Integers are safe ones, not negative. */
export function protobufPart(...fields: readonly NumberedField[]): ProtobufPart {
  let length = 0
  for (const [number, value] of fields) {
    if (!isPresent(value)) continue
    length += varintLength(number * 8)
    if (isVarint(value)) length += varintLength(Number(value))
    else {
      const bytes = bytesOf(value)
      length += varintLength(bytes) + bytes
    }
  }
  return { fields, length }
}

/** The message with these fields, in one piece. */
export function protobufMessage(...fields: readonly NumberedField[]): Buffer {
  const part = protobufPart(...fields)
  const message = Buffer.allocUnsafe(part.length)
  put(message, 0, part)
  return message
}

function put(target: Buffer, from: number, { fields }: ProtobufPart): number {
  let at = from
  for (const [number, value] of fields) {
    if (!isPresent(value)) continue
    if (isVarint(value)) {
      at = putVarint(target, at, number * 8 + wire.varint)
      at = putVarint(target, at, Number(value))
      continue
    }
    at = putVarint(target, at, number * 8 + wire.bytes)
    at = putVarint(target, at, bytesOf(value))
    if (typeof value === 'string') at += target.write(value, at)
    else if (Buffer.isBuffer(value)) at += value.copy(target, at)
    else at = put(target, at, value)
  }
  return at
}

/** A varint as a signed integer, exact below 2^53, and where it ends. */
function varintAt(message: Buffer, from: number): { value: number; end: number } {
  let value = 0
  for (let at = from; at < from + 10; at += 1) {
    const byte = message[at]
    if (byte === undefined) break
    // Ten bytes are a negative number.
    if (at === from + 9)
      return { value: Number(BigInt.asIntN(64, wideAt(message, from))), end: at + 1 }
    value += (byte & 0x7f) * 2 ** (7 * (at - from))
    if (byte < 0x80) return { value, end: at + 1 }
  }
  throw new Error('the message is not protobuf')
}

function wideAt(message: Buffer, from: number): bigint {
  let value = 0n
  for (let at = 0; at < 10; at += 1) {
    value |= BigInt((message[from + at] ?? 0) & 0x7f) << BigInt(7 * at)
  }
  return value
}

/** The integers, booleans and length-delimited fields of a message, in order; others are skipped. Throws for bytes that are not protobuf. */
export function* protobufFields(message: Buffer): Generator<ProtobufField> {
  let at = 0
  const varint = (): number => {
    const { value, end } = varintAt(message, at)
    at = end
    return value
  }
  while (at < message.length) {
    const tag = varint()
    const number = Math.floor(tag / 8)
    const type = tag % 8
    if (type === wire.varint) yield { number, value: varint() }
    else if (type === wire.fixed64) at += 8
    else if (type === wire.fixed32) at += 4
    else if (type === wire.bytes) {
      const length = varint()
      const value = message.subarray(at, at + length)
      if (length < 0 || value.length < length) throw new Error('the message is cut short')
      at += length
      yield { number, value }
    } else throw new Error('the message is not protobuf')
  }
}
