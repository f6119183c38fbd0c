/** DER in certificates and signing requests, where malformed bytes are an expected outcome: read as certs/der.ts reads them. */
import { DerError, readAll, readElement, type DerElement } from '../../../certs/der.ts'

/** What `read` returns; undefined when the bytes are not the expected DER. */
export function unlessMalformed<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}

/** The element at this place; undefined when it is malformed. */
export function elementAt(bytes: Buffer, at: number): DerElement | undefined {
  return unlessMalformed(() => readElement(bytes, at))
}

/** The elements that fill `bytes`, of the given tags in that order; further ones may follow. Undefined when they do not. */
export function elementsOf(
  bytes: Buffer,
  wanted: readonly number[] = [],
): readonly DerElement[] | undefined {
  const elements = unlessMalformed(() => readAll(bytes))
  return wanted.every((tag, i) => elements?.[i]?.tag === tag) ? elements : undefined
}
