/**
 * WatchCache: the store's newest state and last minutes of history in memory, applied in commit order. Every get, list and
 * watch is served from it; a write is answered only after its commit was applied, so each client reads its own writes.
 */
import type { Clock } from '../../component-base/clock.ts'
import type { KubeObject } from '../../machinery/object.ts'
import type { Resource } from '../../machinery/resource.ts'
import type { Store, StoreEvent } from '../../store/store.ts'
import type { ObjectChange, ObjectReader } from '../object-reader.ts'
import { Collection } from './collection.ts'
import { CacheEvent, Entry } from './entry.ts'

/** All keys of this product's objects in a store start with it. */
export const storeRoot = '/registry/'

/** Watch history and exact reads reach back this far (spec: Limits). */
export const defaultHistoryMs = 5 * 60 * 1000

const loadPageSize = 2000

/** The store key of an object; `key` is `namespace/name` or `name`. */
export function storeKey(resource: Resource, key: string): string {
  return `${storeRoot}${resource.storagePrefix}/${key}`
}

type ChangeHandler = (change: ObjectChange) => void

export class WatchCache implements ObjectReader {
  readonly #store: Store
  readonly #clock: Clock
  readonly #historyMs: number
  readonly #collections = new Map<string, Collection>()
  readonly #handlers = new Map<string, Set<ChangeHandler>>()
  #revision = 0
  #startRevision = 0
  readonly #waiting: { revision: number; resolve: () => void }[] = []
  /** How far the cache was at past moments, oldest first; and how far it was when the history began. */
  #marks: { atMs: number; revision: number }[] = []
  #historyStart = 0

  constructor(options: { store: Store; clock: Clock; historyMs?: number }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#historyMs = options.historyMs ?? defaultHistoryMs
  }

  /** Loads the newest state and follows the store from there. `run` ends when `signal` aborts, or fails with the store. */
  async start(signal: AbortSignal): Promise<{ run: Promise<void> }> {
    let from: string | undefined
    let atRevision: number | undefined
    for (;;) {
      const page = await this.#store.range({
        prefix: storeRoot,
        limit: loadPageSize,
        ...(from === undefined ? {} : { from }),
        ...(atRevision === undefined ? {} : { atRevision }),
      })
      atRevision ??= page.revision
      this.#revision = atRevision
      this.#startRevision = atRevision
      for (const { key, modRevision, value } of page.kvs) {
        const place = splitStoreKey(key)
        if (place === undefined) continue
        this.#collection(place.prefix).load(new Entry(place.key, modRevision, value))
      }
      const last = page.kvs.at(-1)
      if (!page.more || last === undefined) break
      from = `${last.key}\0`
    }
    const run = this.#store.watch(
      { prefix: storeRoot, fromRevision: this.#revision, signal },
      (events) => this.#apply(events),
    )
    return { run }
  }

  #collection(prefix: string): Collection {
    let collection = this.#collections.get(prefix)
    if (collection === undefined) {
      collection = new Collection({
        startRevision: this.#startRevision,
        historyMs: this.#historyMs,
      })
      this.#collections.set(prefix, collection)
    }
    return collection
  }

  #apply(events: readonly StoreEvent[]): void {
    const appliedAtMs = this.#clock.now()
    for (const event of events) {
      const storeKeyText = event.type === 'put' ? event.kv.key : event.key
      const revision = event.type === 'put' ? event.kv.modRevision : event.revision
      const place = splitStoreKey(storeKeyText)
      if (place !== undefined) {
        const collection = this.#collection(place.prefix)
        const entry =
          event.type === 'put' ? new Entry(place.key, revision, event.kv.value) : undefined
        const previous = collection.get(place.key)
        if (entry !== undefined || previous !== undefined) {
          this.#revision = revision
          collection.apply(new CacheEvent({ revision, entry, previous, appliedAtMs }))
          this.#tell(place.prefix, { entry, previous })
        }
      }
      this.#revision = revision
    }
    while (this.#waiting.length > 0) {
      const first = this.#waiting[0]
      if (first === undefined || first.revision > this.#revision) break
      this.#waiting.shift()
      first.resolve()
    }
  }

  #tell(prefix: string, change: { entry: Entry | undefined; previous: Entry | undefined }): void {
    const handlers = this.#handlers.get(prefix)
    if (handlers === undefined || handlers.size === 0) return
    const { entry, previous } = change
    const shown = entry ?? previous
    if (shown === undefined) return
    const type = entry === undefined ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED'
    for (const handler of handlers) {
      handler({ type, key: shown.key, object: () => shown.object() })
    }
  }

  /** The newest revision applied. */
  get revision(): number {
    return this.#revision
  }

  collection(resource: Resource): Collection {
    return this.#collection(resource.storagePrefix)
  }

  /** Resolves once the commit numbered `revision` is in the cache. */
  async applied(revision: number): Promise<void> {
    if (this.#revision >= revision) return
    await new Promise<void>((resolve) => {
      const at = this.#waiting.findIndex((waiter) => waiter.revision > revision)
      this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, { revision, resolve })
    })
  }

  /** Resolves once the cache is at least as new as the store was at the call: what a consistent read waits for. */
  async current(): Promise<number> {
    const newest = await this.#store.revision()
    await this.applied(newest)
    return this.#revision
  }

  /** Forgets history past its time in all collections; called every now and then. */
  forget(): void {
    const nowMs = this.#clock.now()
    for (const collection of this.#collections.values()) collection.forget(nowMs)
    this.#marks.push({ atMs: nowMs, revision: this.#revision })
    while ((this.#marks[0]?.atMs ?? nowMs) <= nowMs - this.#historyMs) {
      this.#historyStart = this.#marks.shift()?.revision ?? 0
    }
  }

  /** False when `revision` was overtaken longer ago than the history reaches, be it by a change of something else. */
  retains(revision: number): boolean {
    return revision >= this.#historyStart
  }

  /** Objects by storage prefix, for metrics. */
  *sizes(): IterableIterator<{ prefix: string; objects: number; watchers: number }> {
    for (const [prefix, collection] of this.#collections) {
      yield { prefix, objects: collection.size, watchers: collection.watchers }
    }
  }

  get(resource: Resource, namespace: string, name: string): KubeObject | undefined {
    const key = resource.namespaced ? `${namespace}/${name}` : name
    return this.#collections.get(resource.storagePrefix)?.get(key)?.object()
  }

  list(resource: Resource, namespace = ''): readonly KubeObject[] {
    const prefix = resource.namespaced && namespace !== '' ? `${namespace}/` : ''
    const snapshot = this.collection(resource).snapshot(this.#revision)
    return Array.from(snapshot.entries(prefix), (entry) => entry.object())
  }

  onChange(resource: Resource, handler: ChangeHandler): () => void {
    let handlers = this.#handlers.get(resource.storagePrefix)
    if (handlers === undefined) this.#handlers.set(resource.storagePrefix, (handlers = new Set()))
    handlers.add(handler)
    return () => void handlers.delete(handler)
  }
}

/** `/registry/<group>/<plural>/<key>` -> its parts; undefined for keys of another shape. */
function splitStoreKey(storeKeyText: string): { prefix: string; key: string } | undefined {
  const group = storeKeyText.indexOf('/', storeRoot.length)
  const plural = group < 0 ? -1 : storeKeyText.indexOf('/', group + 1)
  if (plural < 0) return undefined
  return {
    prefix: storeKeyText.slice(storeRoot.length, plural),
    key: storeKeyText.slice(plural + 1),
  }
}
