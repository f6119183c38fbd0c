/** Fields of a message in protobuf's wire format, as proto3 writes them: a zero value is no field. */
import { wire } from './wire-reader.ts'

/** A whole number from 0 to 2^53 - 1. */
function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}

function tag(number: number, type: number): Buffer {
  return varint(number * 8 + type)
}

function lengthDelimited(number: number, value: Buffer): Buffer {
  return Buffer.concat([tag(number, wire.bytes), varint(value.length), value])
}

const nothing = Buffer.alloc(0)

export function bytesField(number: number, value: Buffer): Buffer {
  return value.length === 0 ? nothing : lengthDelimited(number, value)
}

export function textField(number: number, value: string): Buffer {
  return bytesField(number, Buffer.from(value))
}

/** Also for enums. `value` is not negative. */
export function numberField(number: number, value: number): Buffer {
  return value === 0 ? nothing : Buffer.concat([tag(number, wire.varint), varint(value)])
}

/** A `map<string, bytes>`; as upstream, an entry has its key and its value even if they are empty. */
export function mapField(number: number, map: ReadonlyMap<string, Buffer>): Buffer {
  const entries = [...map].map(([key, value]) =>
    lengthDelimited(
      number,
      Buffer.concat([lengthDelimited(1, Buffer.from(key)), lengthDelimited(2, value)]),
    ),
  )
  return Buffer.concat(entries)
}
