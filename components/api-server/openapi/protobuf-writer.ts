/** A writer of protobuf messages for the OpenAPI document: encoders are values, put together per message. */

/** A JSON value as the bytes of a field's payload; undefined leaves the field out. */
export type Encode = (value: unknown) => Buffer | undefined

interface Field {
  readonly number: number
  readonly encode: Encode
  readonly wire: 'bytes' | 'varint' | 'double'
  /** A list gives one field for each element. */
  readonly repeated: boolean
}

/** The bytes of an unsigned number in base 128. */
function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  bytes.push(rest)
  return Buffer.from(bytes)
}

const wireTypes = { varint: 0, double: 1, bytes: 2 } as const

/** One field with its tag; `bytes` fields get their length. */
function tagged(number: number, wire: Field['wire'], payload: Buffer): Buffer {
  const tag = varint(number * 8 + wireTypes[wire])
  return wire === 'bytes'
    ? Buffer.concat([tag, varint(payload.length), payload])
    : Buffer.concat([tag, payload])
}

/** A field that holds a message, a text or bytes. */
export function bytesField(number: number, payload: Buffer): Buffer {
  return tagged(number, 'bytes', payload)
}

export const asText: Encode = (value) => Buffer.from(String(value))

export function text(number: number): Field {
  return { number, encode: asText, wire: 'bytes', repeated: false }
}

export function texts(number: number): Field {
  return { number, encode: asText, wire: 'bytes', repeated: true }
}

export function flag(number: number): Field {
  const encode: Encode = (value) => (value === true ? varint(1) : undefined)
  return { number, encode, wire: 'varint', repeated: false }
}

/** Counts: never negative. */
export function count(number: number): Field {
  return { number, encode: (value) => varint(Number(value)), wire: 'varint', repeated: false }
}

export function double(number: number): Field {
  const encode: Encode = (value) => {
    const payload = Buffer.alloc(8)
    payload.writeDoubleLE(Number(value))
    return payload
  }
  return { number, encode, wire: 'double', repeated: false }
}

export function one(number: number, encode: Encode): Field {
  return { number, encode, wire: 'bytes', repeated: false }
}

export function many(number: number, encode: Encode): Field {
  return { number, encode, wire: 'bytes', repeated: true }
}

/** Any JSON value, as YAML text inside a message. */
export const anyValue: Encode = (value) => bytesField(2, Buffer.from(`${JSON.stringify(value)}\n`))

/** An object as a list of messages of a name and a value. */
export function named(number: number, encode: Encode): Encode {
  return (value) =>
    Buffer.concat(
      Object.entries(value as object).map(([name, child]) =>
        bytesField(number, namedEntry(name, encode(child) ?? Buffer.alloc(0))),
      ),
    )
}

export function namedEntry(name: string, payload: Buffer): Buffer {
  return Buffer.concat([bytesField(1, Buffer.from(name)), bytesField(2, payload)])
}

/** A message from an object: known keys by their fields, `x-` keys as vendor extensions with that number. */
export function message(fields: Readonly<Record<string, Field>>, extensions: number): Encode {
  return (value) => {
    const parts: Buffer[] = []
    for (const [key, child] of Object.entries(value as object) as [string, unknown][]) {
      if (key.startsWith('x-')) {
        parts.push(bytesField(extensions, namedEntry(key, anyValue(child) ?? Buffer.alloc(0))))
        continue
      }
      const field = Object.hasOwn(fields, key) ? fields[key] : undefined
      if (field === undefined) continue
      for (const element of field.repeated ? (child as unknown[]) : [child]) {
        const payload = field.encode(element)
        if (payload !== undefined) parts.push(tagged(field.number, field.wire, payload))
      }
    }
    return Buffer.concat(parts)
  }
}
