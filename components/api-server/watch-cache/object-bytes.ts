/**
 * The one encoding of an object. Stored bytes hold an empty resourceVersion (the store alone knows it); the wire bytes
 * have it filled in, and end in a newline. kind and apiVersion come first, so that lists can leave them out by offset.
 */
import { goJson } from '../../machinery/values/go-json.ts'
import { setOwn } from '../../machinery/values/json-copy.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { objectBytes, objectMemory } from './object-memory.ts'

const slot = Buffer.from('"resourceVersion":"')
const closingQuote = 0x22
const [backslash, openingBrace, closingBrace] = [0x5c, 0x7b, 0x7d]

/** Clients compare a field of these byte by byte with what Go encodes: kubectl the `data` of a revision. */
const comparedKinds: ReadonlySet<string | undefined> = new Set(['ControllerRevision'])

type Fields = Record<string, unknown>

/** name, namespace, uid and resourceVersion first. */
function metadataInWireOrder(metadata: KubeObject['metadata']): Fields {
  const { name, generateName, namespace, uid } = metadata
  const ordered: Fields = { name }
  if (generateName !== undefined && generateName !== '') ordered['generateName'] = generateName
  if (namespace !== undefined && namespace !== '') ordered['namespace'] = namespace
  ordered['uid'] = uid
  ordered['resourceVersion'] = ''
  for (const field in metadata) {
    // The code above leaves these two out only when they are empty.
    if (field !== 'generateName' && field !== 'namespace') {
      ordered[field] ??= metadata[field as keyof typeof metadata]
    }
  }
  return ordered
}

/** All but kind, apiVersion and metadata. Copied by hand: what rest patterns make is slow to make and to write. */
function restOf(object: KubeObject): Fields {
  const rest: Fields = {}
  for (const field in object) {
    if (field !== 'kind' && field !== 'apiVersion' && field !== 'metadata') {
      setOwn(rest, field, object[field])
    }
  }
  return rest
}

/**
 * What the store keeps: the object as JSON with an empty resourceVersion, and a newline. `managedFields` is JSON that the
 * metadata gets besides what it holds.
 */
export function encodeForStore(object: KubeObject, managedFields?: string): Buffer {
  const { kind, apiVersion } = object
  const metadata = metadataInWireOrder(object.metadata)
  const head = JSON.stringify({ kind, apiVersion, metadata }).slice(0, -2)
  const owners = managedFields === undefined ? '' : `,"managedFields":${managedFields}`
  const encode = comparedKinds.has(kind) ? goJson : JSON.stringify
  const tail = encode(restOf(object)).slice(1)
  return objectBytes(`${head}${owners}}${tail === '}' ? '' : ','}${tail}\n`)
}

/**
 * Where the value of the object's resourceVersion starts. name, namespace and uid cannot hold the slot's text unescaped, so
 * its first occurrence is the object's own. Throws if the bytes have no resourceVersion.
 */
export function revisionStart(bytes: Buffer): number {
  const at = bytes.indexOf(slot)
  if (at < 0) throw new Error('stored bytes have no resourceVersion')
  return at + slot.length
}

/** The end of the value that starts there. */
export function revisionEnd(bytes: Buffer, start: number): number {
  return bytes[start] === closingQuote ? start : bytes.indexOf(closingQuote, start)
}

/** The same bytes with `revision` as the resourceVersion, which starts at `start`. They are written to what `memory` gives. */
export function withRevision(
  bytes: Buffer,
  revision: number,
  start: number,
  memory: (length: number) => Buffer = objectMemory,
): Buffer {
  const end = revisionEnd(bytes, start)
  const digits = String(revision)
  const result = memory(bytes.length - (end - start) + digits.length)
  bytes.copy(result, 0, 0, start)
  result.write(digits, start, 'latin1')
  bytes.copy(result, start + digits.length, end)
  return result
}

/** The end of the metadata around the resourceVersion that ends at `from`, its closing brace included; undefined without one. */
export function metadataEnd(bytes: Buffer, from: number): number | undefined {
  let depth = 1
  for (let at = from + 1; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === closingQuote) {
      at += 1
      while (at < bytes.length && bytes[at] !== closingQuote) at += bytes[at] === backslash ? 2 : 1
    } else if (byte === openingBrace) {
      depth += 1
    } else if (byte === closingBrace) {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return undefined
}
