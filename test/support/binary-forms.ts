/** Readers of binary answers that know no schema: protobuf fields by number, frames with a length, sequences of CBOR items. */
import { decodeFirst, type DecodeOptions } from 'cborg'

/** A message's fields: numbers, or bytes that may be a text or a message. */
export type Fields = ReadonlyMap<number, readonly (bigint | Buffer)[]>

function varintAt(bytes: Buffer, start: number): { value: bigint; end: number } {
  let value = 0n
  let end = start
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[end]
    if (byte === undefined) throw new Error('the message ends inside a number')
    end += 1
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return { value, end }
  }
}

/** The fields of one message, by the rules of the wire format alone. */
export function fieldsOf(bytes: Buffer): Fields {
  const fields = new Map<number, (bigint | Buffer)[]>()
  let at = 0
  while (at < bytes.length) {
    const tag = varintAt(bytes, at)
    at = tag.end
    const type = Number(tag.value & 7n)
    let value: bigint | Buffer
    if (type === 0) {
      const read = varintAt(bytes, at)
      value = read.value
      at = read.end
    } else {
      const head = type === 2 ? varintAt(bytes, at) : { value: type === 1 ? 8n : 4n, end: at }
      at = head.end + Number(head.value)
      if (at > bytes.length) throw new Error('the message ends inside a field')
      value = bytes.subarray(head.end, at)
    }
    const number = Number(tag.value >> 3n)
    fields.set(number, [...(fields.get(number) ?? []), value])
  }
  return fields
}

/** The only value of a field that holds bytes. */
export function bytesAt(fields: Fields, number: number): Buffer {
  const values = fields.get(number) ?? []
  const [value] = values
  if (values.length !== 1 || !Buffer.isBuffer(value)) {
    throw new Error(`field ${number} is there ${values.length} times`)
  }
  return value
}

export function textAt(fields: Fields, number: number): string {
  return bytesAt(fields, number).toString()
}

export interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Buffer
  readonly fields: Fields
}

/** A whole protobuf body: four fixed bytes and the envelope. */
export function envelopeOf(body: Buffer): Envelope {
  if (body.subarray(0, 4).toString('latin1') !== 'k8s\0') throw new Error('no magic bytes')
  const fields = fieldsOf(body.subarray(4))
  const typeMeta = fieldsOf(bytesAt(fields, 1))
  return {
    apiVersion: textAt(typeMeta, 1),
    kind: textAt(typeMeta, 2),
    raw: bytesAt(fields, 2),
    fields,
  }
}

/** Whole frames at the start of what came: four bytes of length, then so many bytes. */
export function framesOf(bytes: Buffer): { frames: Buffer[]; rest: Buffer } {
  const frames: Buffer[] = []
  let rest = bytes
  while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
    const end = 4 + rest.readUInt32BE()
    frames.push(rest.subarray(4, end))
    rest = rest.subarray(end)
  }
  return { frames, rest }
}

/** One event of a protobuf watch. */
export function protobufEvent(frame: Buffer): { type: string; object: Envelope } {
  const fields = fieldsOf(frame)
  return {
    type: textAt(fields, 1),
    object: envelopeOf(bytesAt(fieldsOf(bytesAt(fields, 2)), 1)),
  }
}

const options: DecodeOptions = {
  useMaps: true,
  tags: {
    22: (content) => Buffer.from(content() as Uint8Array).toString('base64'),
    55799: (content) => content(),
  },
}

/** Byte strings as the texts they are. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (Array.isArray(value)) return value.map(plain)
  if (!(value instanceof Map)) return value
  return Object.fromEntries([...value].map(([key, child]) => [plain(key), plain(child)]))
}

/** Every CBOR item there is, one after the other, as JSON values. */
export function cborItems(bytes: Buffer): unknown[] {
  const items: unknown[] = []
  let rest: Uint8Array = bytes
  while (rest.length > 0) {
    const [value, more] = decodeFirst(rest, options) as [unknown, Uint8Array]
    items.push(plain(value))
    rest = more
  }
  return items
}
