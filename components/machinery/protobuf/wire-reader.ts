/** Protobuf's wire format: the fields of a message, without a schema. */

/** The bytes are not a message, or not of the schema. */
export class ProtobufError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ProtobufError'
  }
}

export const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

export class Cursor {
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
export function eachField(
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
