/**
 * stored-forms: how the bytes of objects become what lies in the store, and back: JSON or protobuf inside, encryption outside
 * (upstream: the codec of pkg/server/storage, and storage/value).
 */
import type { Dialect } from '../../api/dialect.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import { packageOfVersion, type Resources } from '../../api/resources.ts'
import { findSchema, schemaOf } from '../../api/schemas.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import {
  protobufMagic,
  readProtobuf,
  readProtobufEnvelope,
} from '../../machinery/protobuf/protobuf-reader.ts'
import { decode } from '../../machinery/schema/decode.ts'
import type { StructSchema } from '../../machinery/schema/schema.ts'
import { protobufBodies } from '../encoding/protobuf-form.ts'
import {
  isEncrypted,
  readsPlainOnly,
  type FromStorage,
  type StorageTransformers,
  type Transformer,
} from '../encryption/transformer.ts'
import type { DefaultsContext } from '../kinds/strategy.ts'
import { encodeForStore } from '../watch-cache/object-bytes.ts'
import { earlierKey } from '../watch-cache/store-keys.ts'
import { strategyOf } from './strategies.ts'

export interface StoredFormsOptions {
  readonly resources: Resources
  readonly dialect: Dialect
  readonly gates: FeatureGates
  /** Writes protobuf for built-in kinds; JSON and protobuf are read in either case. */
  readonly writesProtobuf: boolean
  /** Undefined: nothing is encrypted. */
  readonly encryption: StorageTransformers | undefined
  /** The name of a store key that encryption authenticates: the key in etcd, with the prefix of the flag. */
  readonly pathOf: (storeKeyText: string) => string
}

const openingBrace = 0x7b

function isProtobuf(bytes: Buffer): boolean {
  return (
    bytes[0] === protobufMagic[0] && bytes.subarray(0, protobufMagic.length).equals(protobufMagic)
  )
}

/** The built-in kinds by storage prefix. */
function builtInKinds({ all }: Resources): ReadonlyMap<string, Resource> {
  const kinds = all.filter(
    ({ virtual, package: own, storageVersion }) => !virtual && own === storageVersion.package,
  )
  return new Map(kinds.map((resource) => [resource.storagePrefix, resource]))
}

/** Upstream's servers for definitions and APIServices know JSON alone. */
function isStoredAsProtobuf({ package: own }: Resource): boolean {
  return !/^(apiextensions|apiregistration)\//.test(own)
}

type ToProtobuf = (bytes: Buffer, objectOf: (() => KubeObject) | undefined) => Buffer

/** Bytes that are no object of the stored version stay as they are: a saved cluster may hold some. */
function toProtobuf({ kind, storageVersion }: Resource): ToProtobuf {
  const { package: own, apiVersion } = storageVersion
  let write: ((object: KubeObject) => Buffer) | undefined
  return (bytes, objectOf) => {
    try {
      const object = objectOf?.() ?? (JSON.parse(bytes.toString()) as KubeObject)
      if (object.kind !== kind || object.apiVersion !== apiVersion) return bytes
      write ??= protobufBodies(schemaOf(`${own}.${kind}`), { apiVersion, kind })
      return write(object)
    } catch {
      return bytes
    }
  }
}

interface Typed {
  readonly kind: string
  readonly apiVersion: string
}

/**
 * The bytes of a value that another API server may have stored, which leaves out what its defaults fill in when it reads; undefined
 * for one that is no such object.
 */
function ownBytes(
  value: unknown,
  schema: StructSchema,
  { kind, apiVersion, resource, dialect, gates }: Typed & DefaultsContext,
): Buffer | undefined {
  const { object, problems } = decode(value, schema, { mode: 'ignore', mayReuse: true })
  if (problems.fatal !== undefined) return undefined
  if (apiVersion === resource.storageVersion.apiVersion)
    strategyOf(resource).applyDefaults?.(object, { resource, dialect, gates })
  return encodeForStore({ ...object, kind, apiVersion })
}

/** JSON of the version that the bytes are in. Bytes of another kind, or of a version without a schema, stay as they are. */
function fromProtobuf(resource: Resource, bytes: Buffer, options: StoredFormsOptions): Buffer {
  try {
    const { raw, kind, apiVersion } = readProtobufEnvelope(bytes)
    const typed = { kind, apiVersion }
    const schema = schemaFor(resource, typed, options)
    if (schema === undefined) return bytes
    const context = { ...options, ...typed, resource }
    return ownBytes(readProtobuf(schema, raw), schema, context) ?? bytes
  } catch {
    // No message of that kind: readers find that it is no object, and report it.
    return bytes
  }
}

function schemaFor(
  resource: Resource,
  { kind, apiVersion }: Typed,
  { resources }: StoredFormsOptions,
): StructSchema | undefined {
  const version = packageOfVersion(apiVersion, resources)
  return kind === resource.kind ? findSchema(`${version}.${kind}`) : undefined
}

/**
 * JSON of another API server, which has no place for the resourceVersion, as this one stores it. Bytes that are no object stay as
 * they are, and so do those of versions without a schema, but for the place.
 */
function fromForeignJson(
  resource: Resource | undefined,
  bytes: Buffer,
  options: StoredFormsOptions,
): Buffer {
  try {
    const object = JSON.parse(bytes.toString()) as KubeObject
    const { kind = '', apiVersion = '', metadata } = object
    if (typeof metadata !== 'object' || metadata === null) return bytes
    const typed = { kind, apiVersion }
    const schema = resource && schemaFor(resource, typed, options)
    const context = resource && { ...options, ...typed, resource }
    return (schema && context && ownBytes(object, schema, context)) ?? encodeForStore(object)
  } catch {
    // Readers find that it is no object, and report it.
    return bytes
  }
}

const slot = Buffer.from('"resourceVersion":""')
const closingBrace = 0x7d
const letterK = 0x6b

/** Whether encodeForStore made the bytes: before its resourceVersion, which is empty, only two objects begin and none ends. */
function isOwnJson(bytes: Buffer): boolean {
  const at = bytes.indexOf(slot)
  if (at < 0 || bytes[2] !== letterK) return false
  const end = bytes.indexOf(closingBrace)
  const inner = bytes.indexOf(openingBrace, bytes.indexOf(openingBrace, 1) + 1)
  return end > at && (inner < 0 || inner > at)
}

/** The form of one resource. */
class StoredForm implements Transformer {
  readonly #options: StoredFormsOptions
  readonly #encryption: Transformer | undefined
  /** Undefined for custom resources. */
  readonly #resource: Resource | undefined
  readonly #writesProtobuf: boolean
  readonly #toProtobuf: ToProtobuf
  readonly prepare?: (stored: Buffer) => Promise<void> | undefined
  readonly isLasting: boolean

  constructor(
    options: StoredFormsOptions,
    of: { encryption: Transformer | undefined; resource: Resource | undefined },
  ) {
    this.#options = options
    this.#encryption = of.encryption
    this.#resource = of.resource
    this.#toProtobuf = of.resource === undefined ? (bytes) => bytes : toProtobuf(of.resource)
    const hasProtobuf = of.resource !== undefined && isStoredAsProtobuf(of.resource)
    this.#writesProtobuf = options.writesProtobuf && hasProtobuf
    this.isLasting = options.encryption === undefined
    const prepare = of.encryption?.prepare?.bind(of.encryption)
    if (prepare !== undefined) this.prepare = prepare
  }

  toStorage(bytes: Buffer, key: string, objectOf?: () => KubeObject): Buffer {
    const encryption = this.#encryption
    const { pathOf } = this.#options
    const plain = this.#writesProtobuf ? this.#toProtobuf(bytes, objectOf) : bytes
    return encryption === undefined ? plain : encryption.toStorage(plain, pathOf(key))
  }

  fromStorage(stored: Buffer, key: string): FromStorage {
    const resource = this.#resource
    const read = this.#decrypted(stored, key)
    if (!read.ok) return read
    const { bytes } = read
    const isStale = read.isStale || isProtobuf(bytes) !== this.#writesProtobuf
    if (bytes[0] === openingBrace) {
      if (isOwnJson(bytes)) return isStale === read.isStale ? read : { ...read, isStale }
      return { ok: true, bytes: fromForeignJson(resource, bytes, this.#options), isStale }
    }
    if (resource === undefined || !isProtobuf(bytes)) return read
    return { ok: true, bytes: fromProtobuf(resource, bytes, this.#options), isStale }
  }

  #decrypted(stored: Buffer, key: string): FromStorage {
    const encryption = this.#encryption
    if (encryption === undefined) {
      return stored[0] !== openingBrace && isEncrypted(stored)
        ? { ok: false, why: readsPlainOnly }
        : { ok: true, bytes: stored, isStale: false }
    }
    const path = this.#options.pathOf(key)
    const read = encryption.fromStorage(stored, path)
    if (read.ok) return read
    const earlier = earlierKey(key)
    if (earlier === path) return read
    const before = encryption.fromStorage(stored, earlier)
    return before.ok ? { ...before, isStale: true } : read
  }
}

/** A transformer for each resource, also without encryption. It follows what `encryption` loads again. */
export function createStoredForms(options: StoredFormsOptions): StorageTransformers {
  const kinds = builtInKinds(options.resources)
  const made = new Map<string, { form: StoredForm; encryption: Transformer | undefined }>()
  return {
    needsPreparing: options.encryption !== undefined,
    of: (storagePrefix) => {
      const encryption = options.encryption?.of(storagePrefix)
      const known = made.get(storagePrefix)
      if (known !== undefined && known.encryption === encryption) return known.form
      const form = new StoredForm(options, { encryption, resource: kinds.get(storagePrefix) })
      made.set(storagePrefix, { form, encryption })
      return form
    },
  }
}
