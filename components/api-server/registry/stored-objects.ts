/** StoredObjects: how objects lie in the store, and what of it can be read: transformers, stale forms, corrupt objects. */
import { internalError, notFound, StatusError } from '../../machinery/objects/status-error.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Store } from '../../store/store.ts'
import type { StorageTransformers } from '../encryption/transformer.ts'
import type { Entry } from '../watch-cache/entry.ts'
import { storedObject, type EncodedObject } from '../watch-cache/object-bytes.ts'
import { UndecodableError, type Unreadable } from '../watch-cache/unreadable.ts'
import { storeKey } from '../watch-cache/store-keys.ts'
import type { Caches } from '../watch-cache/caches.ts'
import { corruptList, corruptObject, notReady } from './corrupt-objects.ts'

/** What objects are read from and written to one by one. */
export type ObjectStore = Pick<Store, 'get' | 'txn'>

export interface StoredObjectsOptions {
  /** Where each key lies. */
  readonly store: ObjectStore
  readonly cache: Caches
  /** The cache's own; absent: objects are stored as they are. */
  readonly transformers?: StorageTransformers | undefined
  /** The gate AllowUnsafeMalformedObjectDeletion: errors name the keys of what cannot be read, and it may be deleted. */
  readonly allowUnsafeDeletion?: boolean
}

/** The most that an object may take in the store. */
const mostStoredBytes = 3 * 1024 * 1024

/**
 * Throws a 413 for an object that many requests made too large for one: a client that changes it would keep all others waiting.
 * Upstream's store takes 1.5 MiB, in an encoding that is shorter than JSON.
 */
export function refuseTooLarge(bytes: Buffer): void {
  if (bytes.length <= mostStoredBytes) return
  const message = `Request entity too large: limit is ${mostStoredBytes}`
  throw new StatusError('RequestEntityTooLarge', message)
}

export class StoredObjects {
  readonly #options: StoredObjectsOptions

  constructor(options: StoredObjectsOptions) {
    this.#options = options
  }

  get allowsUnsafeDeletion(): boolean {
    return this.#options.allowUnsafeDeletion === true
  }

  /** The newest committed state; undefined without one. Throws InternalError when what is stored cannot be read. */
  find(resource: Resource, key: string): Entry | undefined {
    const entry = this.#options.cache.find(resource, key)
    if (entry !== undefined) return entry
    const unreadable = this.unreadable(resource, key)
    if (unreadable !== undefined) throw this.errorOf(unreadable)
    return undefined
  }

  /** Like find, with `name` for the NotFound that it throws. */
  get(resource: Resource, key: string, name: string): Entry {
    const entry = this.find(resource, key)
    if (entry === undefined) throw notFound(resource, name)
    return entry
  }

  /** What is stored under a key and cannot be read. */
  unreadable(resource: Resource, key: string): Unreadable | undefined {
    return this.#options.cache.collection(resource).unreadable.get(key)
  }

  errorOf(unreadable: Unreadable): StatusError {
    return corruptObject(unreadable, this.allowsUnsafeDeletion)
  }

  /** Throws the error of a list that would have to show what cannot be read: of keys that `isListed` takes. */
  refuseUnreadable(resource: Resource, isListed: (key: string) => boolean): void {
    const { unreadable } = this.#options.cache.collection(resource)
    if (unreadable.size === 0) return
    const listed = [...unreadable.values()]
      .filter(({ key }) => isListed(key))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    if (listed.length > 0) throw corruptList(resource, listed, this.allowsUnsafeDeletion)
  }

  /** Runs what looks into entries of a part of the resource; throws the error of a list when it meets one that cannot be read. */
  looking<T>(resource: Resource, keyPrefix: string, look: () => T): T {
    try {
      return look()
    } catch (error) {
      if (!(error instanceof UndecodableError)) throw error
      this.#options.cache.prove(resource)
      this.refuseUnreadable(resource, (key) => key.startsWith(keyPrefix))
      throw error
    }
  }

  /** Throws the 429 of a watch when an object of the resource cannot be read: the watch would miss its events. */
  refuseUnreadableWatch(resource: Resource): void {
    if (this.#options.cache.collection(resource).unreadable.size > 0) throw notReady()
  }

  /** Removes a key whatever it holds, if it still holds that; false if another client was first. */
  async remove(resource: Resource, unreadable: Unreadable): Promise<boolean> {
    const { store } = this.#options
    const cache = this.#options.cache.of(resource)
    const { storeKey: key, revision } = unreadable
    const result = await store.txn({ key, expectedRevision: revision, value: null })
    const seen = result.ok ? result.revision : result.current?.modRevision
    await (seen === undefined ? cache.current() : cache.applied(seen))
    return result.ok
  }

  /** What is to be stored for the object, whose JSON the cache takes when the store shows that. */
  toStorage(resource: Resource, keyText: string, encoded: EncodedObject): Buffer {
    const { transformers, cache } = this.#options
    const transformer = transformers?.of(resource.storagePrefix)
    const { bytes } = encoded
    if (transformer === undefined) return bytes
    const stored = transformer.toStorage(bytes, keyText, () => storedObject(encoded))
    if (stored !== bytes) cache.of(resource).ownWrites.note(keyText, stored, bytes)
    return stored
  }

  /**
   * True when an update that changes nothing is to write all the same: what is stored would be written in another form today.
   * Throws InternalError when the key that it is stored under is out of reach.
   */
  async isStale(resource: Resource, entry: Entry): Promise<boolean> {
    const { store, cache, transformers } = this.#options
    if (cache.of(resource).isOutdated(entry)) return true
    const { key, revision } = entry
    const transformer = transformers?.of(resource.storagePrefix)
    if (transformer === undefined || transformer.isLasting === true) return false
    const stored = await store.get(storeKey(resource, key))
    if (stored?.modRevision !== revision) return false
    await transformer.prepare?.(stored.value)
    const read = transformer.fromStorage(stored.value, stored.key)
    // Without the key, staleness is unknown: an answer of "not stale" would leave an old form behind.
    if (!read.ok) throw internalError(read.why)
    return read.isStale
  }
}
