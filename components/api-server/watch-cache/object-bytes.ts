/**
 * The one encoding of an object. Stored bytes hold an empty resourceVersion (the store alone knows it); the wire bytes
 * have it filled in, and end in a newline. kind and apiVersion come first, so that lists can leave them out by offset.
 */
import {
  creatorEntries,
  creatorEntriesTexts,
  type Creator,
} from '../../machinery/apply/managed-fields.ts'
import { goJson } from '../../machinery/values/go-json.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { objectBytes, objectMemory } from './object-memory.ts'

const slot = Buffer.from('"resourceVersion":"')
const closingQuote = 0x22
const [backslash, openingBrace, closingBrace] = [0x5c, 0x7b, 0x7d]

/** Clients compare a field of these byte by byte with what Go encodes: kubectl the `data` of a revision. */
const comparedKinds: ReadonlySet<string | undefined> = new Set(['ControllerRevision'])

/** name, namespace, uid and resourceVersion first; without the braces. */
function metadataText(metadata: KubeObject['metadata']): string {
  const { name, generateName, namespace, uid } = metadata
  let text = name === undefined ? '' : `"name":${JSON.stringify(name)},`
  if (generateName !== undefined && generateName !== '')
    text += `"generateName":${JSON.stringify(generateName)},`
  if (namespace !== undefined && namespace !== '')
    text += `"namespace":${JSON.stringify(namespace)},`
  if (uid !== undefined) text += `"uid":${JSON.stringify(uid)},`
  text += '"resourceVersion":""'
  for (const field in metadata) {
    if (firstFields.has(field)) continue
    const value = metadata[field as keyof typeof metadata]
    if (value !== undefined) text += `,${JSON.stringify(field)}:${JSON.stringify(value)}`
  }
  return text
}

const firstFields: ReadonlySet<string> = new Set([
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
])

/**
 * What the store keeps: the object as JSON with an empty resourceVersion, and a newline. With `creator`, the metadata gets its
 * managedFields besides what it holds.
 */
export function encodeForStore(object: KubeObject, creator?: Creator): Buffer {
  const { kind, apiVersion } = object
  let head = kind === undefined ? '{' : `{"kind":${JSON.stringify(kind)},`
  if (apiVersion !== undefined) head += `"apiVersion":${JSON.stringify(apiVersion)},`
  head += `"metadata":{${metadataText(object.metadata)}`
  // In parts, since joined texts would be copied once more.
  const parts = [head]
  if (creator !== undefined) parts.push(',"managedFields":', ...creatorEntriesTexts(creator))
  parts.push('}')
  const encode = comparedKinds.has(kind) ? goJson : JSON.stringify
  for (const field in object) {
    const value: unknown = object[field]
    if (value === undefined || field === 'kind' || field === 'apiVersion' || field === 'metadata')
      continue
    parts.push(`,${JSON.stringify(field)}:`, encode(value))
  }
  parts.push('}\n')
  return objectBytes(parts)
}

/** An object on its way to the store, and its JSON. */
export interface EncodedObject {
  readonly bytes: Buffer
  /** As it is stored, without its creator. */
  readonly object: KubeObject
  readonly creator: Creator | undefined
}

export function encodedObject(object: KubeObject, creator?: Creator): EncodedObject {
  return { bytes: encodeForStore(object, creator), object, creator }
}

/** What decoding the bytes would give. */
export function storedObject({ object, creator }: EncodedObject): KubeObject {
  const { managedFields } = object.metadata
  const owners = creator === undefined ? managedFields : creatorEntries(creator)
  const metadata = { ...object.metadata, resourceVersion: '' }
  if (owners !== undefined) metadata.managedFields = owners
  return { ...object, metadata }
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
