/**
 * object-memory: where the bytes of objects lie. Node's own pool would put them beside whatever else is handled at the time, and
 * one object that stays would keep all of that: here only objects share memory, few at a time. One for the process, as Node's pool is.
 */

const sharedBytes = 16 * 1024
/** Larger ones have memory of their own. */
const mostShared = sharedBytes / 4

let shared = Buffer.allocUnsafeSlow(sharedBytes)
let used = 0

/** Memory of that size, to be written whole. */
export function objectMemory(length: number): Buffer {
  if (length > mostShared) return Buffer.allocUnsafeSlow(length)
  if (used + length > sharedBytes) {
    shared = Buffer.allocUnsafeSlow(sharedBytes)
    used = 0
  }
  const start = used
  used += length
  return shared.subarray(start, used)
}

/** The texts, one after the other, as UTF-8. */
export function objectBytes(texts: readonly string[]): Buffer {
  let length = 0
  for (const text of texts) length += Buffer.byteLength(text)
  const bytes = objectMemory(length)
  let at = 0
  for (const text of texts) at += bytes.write(text, at)
  return bytes
}

/** The same bytes for those who keep them: copied unless they have memory of their own. */
export function keptBytes(bytes: Buffer): Buffer {
  if (bytes.length === bytes.buffer.byteLength) return bytes
  const kept = objectMemory(bytes.length)
  bytes.copy(kept)
  return kept
}
