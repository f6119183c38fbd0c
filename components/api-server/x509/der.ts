/** DER (X.690): elements of a text in it, as far as certificates and signing requests need them. */

export interface Element {
  readonly tag: number
  /** With tag and length. */
  readonly raw: Buffer
  readonly content: Buffer
}

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  sequence: 0x30,
} as const

/** The element at this place, or undefined when it does not fit the bytes or its length is not in the shortest form. */
export function elementAt(bytes: Buffer, at: number): Element | undefined {
  const first = bytes[at + 1]
  if (first === undefined) return undefined
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  if (first === 0x80 || lengthBytes > 4 || at + 2 + lengthBytes > bytes.length) return undefined
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes)
  if (lengthBytes > 0 && (length < 0x80 || length < 256 ** (lengthBytes - 1))) return undefined
  const start = at + 2 + lengthBytes
  const end = start + length
  if (end > bytes.length) return undefined
  return {
    tag: bytes[at] ?? 0,
    raw: bytes.subarray(at, end),
    content: bytes.subarray(start, end),
  }
}

/** The elements that fill `bytes`, of the given tags in that order; further ones may follow. Undefined when they do not. */
export function elementsOf(
  bytes: Buffer,
  wanted: readonly number[] = [],
): readonly Element[] | undefined {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length;) {
    const element = elementAt(bytes, at)
    if (element === undefined) return undefined
    elements.push(element)
    at += element.raw.length
  }
  return wanted.every((tag, i) => elements[i]?.tag === tag) ? elements : undefined
}
