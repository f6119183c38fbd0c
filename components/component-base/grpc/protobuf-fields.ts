/** The wire form of small protobuf messages, field by field (protobuf.dev/programming-guides/encoding). */

/** A message or bytes as a Buffer, a text, an integer or a boolean. Zeros, empty texts, false and undefined are left out. */
export type FieldValue = Buffer | string | number | boolean | undefined

export interface ProtobufField {
  readonly number: number
  /** Of integers and booleans; a view of the message's bytes for the others. */
  readonly value: number | Buffer
}

const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

function varintBytes(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  bytes.push(rest)
  return bytes
}

/** The message with these fields; integers are safe ones, not negative. */
export function protobufMessage(...fields: readonly (readonly [number, FieldValue])[]): Buffer {
  const parts: Buffer[] = []
  for (const [number, value] of fields) {
    if (value === undefined || value === '' || value === 0 || value === false) continue
    if (typeof value === 'number' || typeof value === 'boolean') {
      const tag = varintBytes(number * 8 + wire.varint)
      parts.push(Buffer.from([...tag, ...varintBytes(Number(value))]))
    } else {
      const bytes = typeof value === 'string' ? Buffer.from(value) : value
      const tag = varintBytes(number * 8 + wire.bytes)
      parts.push(Buffer.from([...tag, ...varintBytes(bytes.length)]), bytes)
    }
  }
  return Buffer.concat(parts)
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
