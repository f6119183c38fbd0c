/**
 * stored-forms: how the bytes of objects become what lies in the store, and back: JSON or protobuf inside, encryption outside
 * (upstream: the codec of pkg/server/storage, and storage/value).
 */
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
import { protobufBody } from '../encoding/protobuf-form.ts'
import {
  isEncrypted,
  readsPlainOnly,
  type FromStorage,
  type StorageTransformers,
  type Transformer,
} from '../encryption/transformer.ts'
import { encodeForStore } from '../watch-cache/object-bytes.ts'
import { earlierKey } from '../watch-cache/store-keys.ts'

export interface StoredFormsOptions {
  readonly resources: Resources
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

/** By storage prefix: the kinds that upstream stores as protobuf. Its servers for definitions and APIServices know JSON alone. */
function protobufKinds({ all }: Resources): ReadonlyMap<string, Resource> {
  const kinds = all.filter(
    ({ virtual, package: own, storageVersion }) =>
      !virtual && own === storageVersion.package && !/^(apiextensions|apiregistration)\//.test(own),
  )
  return new Map(kinds.map((resource) => [resource.storagePrefix, resource]))
}

/** Bytes that are no object stay as they are. */
function toProtobuf({ kind, storageVersion }: Resource, bytes: Buffer): Buffer {
  let object: KubeObject
  try {
    object = JSON.parse(bytes.toString()) as KubeObject
  } catch {
    return bytes
  }
  const schema = schemaOf(`${storageVersion.package}.${kind}`)
  return protobufBody(schema, object, { apiVersion: storageVersion.apiVersion, kind })
}

/** JSON of the version that the bytes are in. Bytes of another kind, or of a version without a schema, stay as they are. */
function fromProtobuf(resource: Resource, bytes: Buffer, resources: Resources): Buffer {
  try {
    const { apiVersion, kind, raw } = readProtobufEnvelope(bytes)
    const version = packageOfVersion(apiVersion, resources)
    const schema = kind === resource.kind ? findSchema(`${version}.${kind}`) : undefined
    if (schema === undefined) return bytes
    const { object, problems } = decode(readProtobuf(schema, raw), schema, {
      mode: 'ignore',
      mayReuse: true,
    })
    return problems.fatal === undefined ? encodeForStore({ ...object, kind, apiVersion }) : bytes
  } catch {
    // No message of that kind: readers find that it is no object, and report it.
    return bytes
  }
}

/** The form of one resource. */
class StoredForm implements Transformer {
  readonly #options: StoredFormsOptions
  readonly #encryption: Transformer | undefined
  /** Undefined for custom resources, definitions and APIServices. */
  readonly #resource: Resource | undefined
  readonly prepare?: (stored: Buffer) => Promise<void> | undefined
  readonly isLasting: boolean

  constructor(
    options: StoredFormsOptions,
    of: { encryption: Transformer | undefined; resource: Resource | undefined },
  ) {
    this.#options = options
    this.#encryption = of.encryption
    this.#resource = of.resource
    this.isLasting = options.encryption === undefined
    const prepare = of.encryption?.prepare?.bind(of.encryption)
    if (prepare !== undefined) this.prepare = prepare
  }

  toStorage(bytes: Buffer, key: string): Buffer {
    const encryption = this.#encryption
    const { writesProtobuf, pathOf } = this.#options
    const resource = writesProtobuf ? this.#resource : undefined
    const plain = resource === undefined ? bytes : toProtobuf(resource, bytes)
    return encryption === undefined ? plain : encryption.toStorage(plain, pathOf(key))
  }

  fromStorage(stored: Buffer, key: string): FromStorage {
    const resource = this.#resource
    const { writesProtobuf, resources } = this.#options
    const read = this.#decrypted(stored, key)
    if (!read.ok) return read
    const { bytes, isStale } = read
    if (resource === undefined) return read
    if (bytes[0] === openingBrace)
      return writesProtobuf && !isStale ? { ...read, isStale: true } : read
    if (!isProtobuf(bytes)) return read
    return {
      ok: true,
      bytes: fromProtobuf(resource, bytes, resources),
      isStale: isStale || !writesProtobuf,
    }
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
  const kinds = protobufKinds(options.resources)
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
