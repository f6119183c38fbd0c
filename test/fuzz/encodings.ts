/** Bodies in every encoding, whole or damaged. */
import { dump } from 'js-yaml'
import type { Schema, StructSchema } from '../../components/machinery/schema/schema.ts'
import { oddText } from './odd-values.ts'
import type { Random } from './random.ts'

/** Bytes with a few places cut, doubled, overwritten or inserted. */
export function damaged(random: Random, bytes: Buffer): Buffer {
  let result = Buffer.from(bytes)
  const times = 1 + random.int(3)
  for (let count = 0; count < times; count += 1) {
    const at = random.int(result.length + 1)
    const to = Math.min(result.length, at + random.int(20))
    const [head, middle, tail] = [
      result.subarray(0, at),
      result.subarray(at, to),
      result.subarray(to),
    ]
    const odd = Buffer.from(random.chance(0.5) ? [random.int(256)] : oddText(random))
    result = Buffer.concat(
      random.pick([
        [head, tail],
        [head, middle, middle, tail],
        [head, odd, tail],
        [head, odd, middle, tail],
        [head],
      ]),
    )
  }
  return result
}

/** YAML of a value, with the features of the language that JSON lacks strewn in. */
export function oddYaml(random: Random, value: unknown): string {
  const text = dump(value, { noRefs: true, skipInvalid: true })
  if (random.chance(0.75)) return text
  const feature = random.pick([
    '&a [*a]',
    '&a {<<: *a}',
    '!!binary YQ==',
    '!!set {a, b}',
    '!!timestamp 2001-12-14',
    '!<tag:x> 1',
    '.inf',
    '0o17',
    '? [a, b]\n: c',
    '|\n  text\n',
    '"\\uD800"',
    '*none',
    '<<: {a: b}',
    '- - - 1',
    '%YAML 9.9\n---\n',
    '---\n',
    '\t',
  ])
  const lines = text.split('\n')
  const at = random.int(lines.length)
  const line = lines[at] ?? ''
  const colon = line.indexOf(':')
  lines[at] = colon < 0 ? feature : `${line.slice(0, colon + 1)} ${feature}`
  return lines.join('\n')
}

const selfDescribedCbor = Buffer.from([0xd9, 0xd9, 0xf7])

/** The first byte of an item of that major type, and its length or number, now and then longer than needed. */
function cborHead(random: Random, major: number, count: number): Buffer {
  const first = major * 32
  const width = count < 24 ? 0 : count < 2 ** 8 ? 1 : count < 2 ** 16 ? 2 : 4
  const padded = random.chance(0.02) ? Math.max(1, width * 2) : width
  if (padded === 0) return Buffer.from([first + count])
  const bytes = Buffer.alloc(1 + padded)
  bytes[0] = first + 24 + Math.log2(padded)
  bytes.writeUIntBE(count, 1 + Math.max(0, padded - 6), Math.min(6, padded))
  return bytes
}

const endless = 31
const cborBreak = Buffer.from([0xff])

/** Items that JSON has nothing like: tags, big numbers, fractions that are none, undefined, reserved values. */
const strangeCbor: readonly string[] = [
  'f97e00',
  'f97c00',
  'f7',
  'f8ff',
  'e0',
  'c249010000000000000000',
  '3bffffffffffffffff',
  '1bffffffffffffffff',
  'fb7ff8000000000001',
  'c074323031332d30332d32315432303a30343a30305a',
  'c11a514b67b0',
  'd64161',
  'd61863',
  'd9d9f7d9d9f7f6',
  'ff',
  '1c',
  '9bffffffffffffffff',
  '5affffffff',
  'bf616101ff',
  'a2416101416102',
  'a10102',
]

/** One item: as a careful writer would write it, but for a few places. */
function cborItem(random: Random, value: unknown): Buffer {
  if (random.chance(0.01)) return Buffer.from(random.pick(strangeCbor), 'hex')
  if (typeof value === 'string') {
    const bytes = Buffer.from(value)
    const major = random.chance(0.9) ? 2 : 3
    if (!random.chance(0.02)) return Buffer.concat([cborHead(random, major, bytes.length), bytes])
    const piece = Buffer.concat([cborHead(random, major, bytes.length), bytes])
    return Buffer.concat([Buffer.from([major * 32 + endless]), piece, cborBreak])
  }
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && Math.abs(value) < 2 ** 32) {
      return value < 0 ? cborHead(random, 1, -1 - value) : cborHead(random, 0, value)
    }
    const double = Buffer.alloc(9)
    double[0] = 0xfb
    double.writeDoubleBE(value, 1)
    return double
  }
  if (typeof value === 'boolean') return Buffer.from([value ? 0xf5 : 0xf4])
  if (typeof value !== 'object' || value === null) return Buffer.from([0xf6])
  const major = Array.isArray(value) ? 4 : 5
  const entries = Object.entries(value).filter(([, child]) => child !== undefined)
  if (random.chance(0.01) && entries[0] !== undefined) entries.push(entries[0])
  const items = entries.map(([key, child]) =>
    major === 4
      ? cborItem(random, child)
      : Buffer.concat([cborItem(random, key), cborItem(random, child)]),
  )
  return random.chance(0.05)
    ? Buffer.concat([Buffer.from([major * 32 + endless]), ...items, cborBreak])
    : Buffer.concat([cborHead(random, major, entries.length), ...items])
}

/** CBOR of a value, with what JSON lacks strewn in. */
export function oddCbor(random: Random, value: unknown): Buffer {
  const item = cborItem(random, value)
  return random.chance(0.9) ? Buffer.concat([selfDescribedCbor, item]) : item
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(Number.isFinite(value) ? Math.trunc(value) : 0))
  do {
    const byte = Number(rest & 0x7fn)
    rest >>= 7n
    bytes.push(rest === 0n ? byte : byte | 0x80)
  } while (rest !== 0n)
  return Buffer.from(bytes)
}

const bytesField = (number: number, content: Buffer): Buffer =>
  Buffer.concat([varint(number * 8 + 2), varint(content.length), content])

/** A message with fields of the schema, in the wrong wire type now and then. */
function message(random: Random, schema: Schema, depth: number): Buffer {
  if (schema.kind === 'struct') {
    const fields = schema.own.filter(() => random.chance(0.3))
    return Buffer.concat(
      fields.map((field) => {
        const isNumber = ['bool', 'int32', 'int64'].includes(field.schema.kind)
        if (isNumber !== random.chance(0.02)) {
          return Buffer.concat([varint(field.proto * 8), varint(random.int(2 ** 31))])
        }
        const inner = field.schema.kind === 'list' ? field.schema.items : field.schema
        return bytesField(
          field.proto,
          depth <= 0 ? Buffer.alloc(0) : message(random, inner, depth - 1),
        )
      }),
    )
  }
  if (schema.kind === 'map') {
    const value = message(random, schema.values, depth - 1)
    return Buffer.concat([bytesField(1, Buffer.from(oddText(random))), bytesField(2, value)])
  }
  if (schema.kind === 'Quantity') return bytesField(1, Buffer.from(oddText(random)))
  if (schema.kind === 'Time' || schema.kind === 'MicroTime') {
    return Buffer.concat([
      varint(8),
      varint(random.int(2 ** (random.chance(0.95) ? 33 : 45))),
      varint(16),
      varint(random.int(99)),
    ])
  }
  return Buffer.from(oddText(random))
}

/** A protobuf body of the kind, in its envelope; its metadata has the name. */
export function oddProtobuf(
  random: Random,
  schema: StructSchema,
  as: { apiVersion: string; name: string },
): Buffer {
  const type = Buffer.concat([
    bytesField(1, Buffer.from(as.apiVersion)),
    bytesField(2, Buffer.from(schema.goName)),
  ])
  // Every kind has its metadata in field 1, and that its name; of a field that comes twice the later parts win.
  const metadata = bytesField(1, bytesField(1, Buffer.from(as.name)))
  const raw = Buffer.concat([message(random, schema, 5), metadata])
  return Buffer.concat([Buffer.from('k8s\0'), bytesField(1, type), bytesField(2, raw)])
}
