/** DER: the small part of ITU-T X.690 that certificates and signing requests need, written and read strictly. */

/** Context-specific, constructed: `explicit(0, ...)`. */
const CONTEXT_CONSTRUCTED = 0xa0
const CONTEXT_PRIMITIVE = 0x80

export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

/** One element: tag, length, content. */
export function element(tagByte: number, ...content: Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([Buffer.from([tagByte]), lengthBytes(length), ...content])
}

export const sequence = (...items: Uint8Array[]): Buffer => element(tag.sequence, ...items)

/** DER orders the members of a set by their encoding. */
export const setOf = (...items: Buffer[]): Buffer =>
  element(tag.set, ...items.toSorted((a, b) => a.compare(b)))

export const octetString = (content: Uint8Array): Buffer => element(tag.octetString, content)

export const boolean = (value: boolean): Buffer =>
  element(tag.boolean, Buffer.from([value ? 0xff : 0]))

/** `explicit(3, x)` is `[3] EXPLICIT x`. */
export const explicit = (number: number, ...content: Uint8Array[]): Buffer =>
  element(CONTEXT_CONSTRUCTED | number, ...content)

/** `implicit(2, bytes)` is a primitive `[2] IMPLICIT`. */
export const implicit = (number: number, content: Uint8Array): Buffer =>
  element(CONTEXT_PRIMITIVE | number, content)

/** A non-negative integer given big-endian; leading zeros are normalised. */
export function unsignedInteger(bytes: Uint8Array): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const trimmed = bytes.length === 0 ? Buffer.from([0]) : bytes.subarray(start)
  const pad = (trimmed[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []
  return element(tag.integer, ...pad, trimmed)
}

export const smallInteger = (value: number): Buffer => unsignedInteger(Buffer.from([value]))

/** `unusedBits` low bits of the last byte do not count. */
export const bitString = (content: Uint8Array, unusedBits = 0): Buffer =>
  element(tag.bitString, Buffer.from([unusedBits]), content)

/** Bits by number, the most significant of the first byte being 0, without trailing zeros (named bit lists). */
export function namedBits(bits: readonly number[]): Buffer {
  if (bits.length === 0) return bitString(Buffer.alloc(0))
  const last = Math.max(...bits)
  const bytes = Buffer.alloc((last >> 3) + 1)
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7))
  return bitString(bytes, 7 - (last & 7))
}

/** Dotted text to an object identifier. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes: number[] = []
  for (const arc of [first * 40 + second, ...rest]) {
    const chunk = [arc & 0x7f]
    for (let high = Math.floor(arc / 128); high > 0; high = Math.floor(high / 128)) {
      chunk.unshift((high % 128) | 0x80)
    }
    bytes.push(...chunk)
  }
  return element(tag.oid, Buffer.from(bytes))
}

const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/

/** PrintableString where the text allows it, else UTF8String, as upstream's encoder chooses. */
export function text(value: string): Buffer {
  return element(printable.test(value) ? tag.printableString : tag.utf8String, Buffer.from(value))
}

/** Whole seconds; UTCTime before 2050 and GeneralizedTime from then on (RFC 5280, 4.1.2.5). */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().slice(0, 19).replace(/[-:T]/g, '')
  const year = Number(digits.slice(0, 4))
  return year >= 1950 && year < 2050
    ? element(tag.utcTime, Buffer.from(`${digits.slice(2)}Z`))
    : element(tag.generalizedTime, Buffer.from(`${digits}Z`))
}

/** One read element. `raw` is the whole encoding, `content` what is inside. */
export interface DerElement {
  readonly tag: number
  readonly raw: Buffer
  readonly content: Buffer
}

/** The readers' error on bytes that are not the expected DER. */
export class DerError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DerError'
  }
}

/** Reads the element at this place; further ones may follow. */
export function readElement(bytes: Buffer, at: number): DerElement {
  const tagByte = bytes[at]
  const first = bytes[at + 1]
  if (tagByte === undefined || first === undefined) throw new DerError('truncated element')
  if ((tagByte & 0x1f) === 0x1f) throw new DerError('multi-byte tags are not supported')
  let start = at + 2
  let length = first
  if (first >= 0x80) {
    const count = first & 0x7f
    // Four bytes bound the length far above any request we accept; 0x80 is BER's indefinite form.
    if (count === 0 || count > 4) throw new DerError('unsupported length form')
    length = 0
    for (let index = 0; index < count; index++) {
      const byte = bytes[start + index]
      if (byte === undefined) throw new DerError('truncated length')
      length = length * 256 + byte
    }
    if (length < 0x80 || (count > 1 && bytes[start] === 0))
      throw new DerError('length is not minimal')
    start += count
  }
  const end = start + length
  if (end > bytes.length) throw new DerError('truncated content')
  return { tag: tagByte, raw: bytes.subarray(at, end), content: bytes.subarray(start, end) }
}

/** Reads the elements that fill `bytes` exactly. */
export function readAll(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = []
  for (let at = 0; at < bytes.length;) {
    const next = readElement(bytes, at)
    elements.push(next)
    at += next.raw.length
  }
  return elements
}

/** Reads exactly one element of the given tag, with nothing after it. */
export function readOne(bytes: Buffer, expected: number): DerElement {
  const only = readElement(bytes, 0)
  if (only.raw.length !== bytes.length) throw new DerError('trailing bytes')
  return expect(only, expected)
}

/** Hands the element back when it has that tag; throws otherwise. */
export function expect(found: DerElement | undefined, expected: number): DerElement {
  if (found === undefined) throw new DerError('missing element')
  if (found.tag !== expected) {
    throw new DerError(`expected tag 0x${expected.toString(16)}, found 0x${found.tag.toString(16)}`)
  }
  return found
}

/** An object identifier's dotted text. */
export function readOid(found: DerElement | undefined): string {
  const { content } = expect(found, tag.oid)
  const arcs: number[] = []
  let arc = 0
  for (const [index, byte] of content.entries()) {
    if (arc === 0 && byte === 0x80) throw new DerError('object identifier is not minimal')
    arc = arc * 128 + (byte & 0x7f)
    if (arc > Number.MAX_SAFE_INTEGER) throw new DerError('object identifier is too large')
    if (byte < 0x80) {
      arcs.push(arc)
      arc = 0
    } else if (index === content.length - 1) throw new DerError('truncated object identifier')
  }
  const [head] = arcs
  if (head === undefined) throw new DerError('empty object identifier')
  const first = Math.min(2, Math.floor(head / 40))
  return [first, head - first * 40, ...arcs.slice(1)].join('.')
}

/** The text of any of the string types that names use. */
export function readText(found: DerElement | undefined): string {
  if (found === undefined) throw new DerError('missing string')
  switch (found.tag) {
    case tag.utf8String:
    case tag.printableString:
    case tag.ia5String:
      return found.content.toString('utf8')
    case tag.t61String:
      return found.content.toString('latin1')
    case tag.bmpString:
      return Buffer.from(found.content).swap16().toString('utf16le')
    default:
      throw new DerError(`tag 0x${found.tag.toString(16)} is not a string`)
  }
}

/** The bytes of a bit string that holds whole bytes, as keys and signatures do. */
export function readBits(found: DerElement | undefined): Buffer {
  const { content } = expect(found, tag.bitString)
  if (content[0] !== 0) throw new DerError('the bit string does not hold whole bytes')
  return content.subarray(1)
}
