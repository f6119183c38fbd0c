/**
 * The one encoding of an object. Stored bytes hold an empty resourceVersion (the store alone knows it); the wire bytes
 * have it filled in, and end in a newline. kind and apiVersion come first, so that lists can leave them out by offset.
 */
import type { KubeObject } from '../../machinery/object.ts'

const slot = Buffer.from('"resourceVersion":"')
const closingQuote = 0x22

/** Puts kind, apiVersion and metadata first, and name, namespace, uid and resourceVersion first in metadata. */
function inWireOrder(object: KubeObject): KubeObject {
  const { kind, apiVersion, metadata, ...rest } = object
  const { name, generateName, namespace, uid, resourceVersion: _, ...more } = metadata
  const head: Record<string, unknown> = { name }
  if (generateName !== undefined && generateName !== '') head['generateName'] = generateName
  if (namespace !== undefined && namespace !== '') head['namespace'] = namespace
  head['uid'] = uid
  head['resourceVersion'] = ''
  Object.assign(head, more)
  return { kind, apiVersion, metadata: head, ...rest } as KubeObject
}

/** What the store keeps: the object as JSON with an empty resourceVersion, and a newline. */
export function encodeForStore(object: KubeObject): Buffer {
  return Buffer.from(`${JSON.stringify(inWireOrder(object))}\n`)
}

/**
 * The same bytes with `revision` as the resourceVersion. name, namespace and uid cannot hold the slot's text unescaped,
 * so its first occurrence is the object's own.
 */
export function withRevision(bytes: Buffer, revision: number): Buffer {
  const at = bytes.indexOf(slot)
  if (at < 0) throw new Error('stored bytes have no resourceVersion')
  const start = at + slot.length
  const end = bytes.indexOf(closingQuote, start)
  const digits = String(revision)
  const result = Buffer.allocUnsafe(bytes.length - (end - start) + digits.length)
  bytes.copy(result, 0, 0, start)
  result.write(digits, start, 'latin1')
  bytes.copy(result, start + digits.length, end)
  return result
}
