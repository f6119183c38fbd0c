/** SplitCache: the caches of several stores, each with the resources that lie in its store (--etcd-servers-overrides). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Caches } from './caches.ts'
import type { Collection } from './collection.ts'
import type { CacheEvent, Entry } from './entry.ts'
import type { ObjectChange } from './object-reader.ts'
import type { Unreadable } from './unreadable.ts'
import type { WatchCache } from './watch-cache.ts'

export interface OwnCache {
  readonly cache: WatchCache
  readonly storagePrefixes: ReadonlySet<string>
}

export class SplitCache implements Caches {
  readonly #rest: WatchCache
  readonly #byPrefix: ReadonlyMap<string, WatchCache>
  readonly #all: readonly WatchCache[]
  readonly #away = new Set<WatchCache>()

  /** `rest` has all resources that `own` does not name. */
  constructor(rest: WatchCache, own: readonly OwnCache[]) {
    this.#rest = rest
    this.#all = [rest, ...own.map(({ cache }) => cache)]
    this.#byPrefix = new Map(
      own.flatMap(({ cache, storagePrefixes }) =>
        Array.from(storagePrefixes, (prefix) => [prefix, cache] as const),
      ),
    )
  }

  of(resource: Resource): WatchCache {
    return this.#byPrefix.get(resource.storagePrefix) ?? this.#rest
  }

  get isShared(): boolean {
    return this.#rest.isShared
  }

  get isFollowing(): boolean {
    return this.#all.every((cache) => cache.isFollowing)
  }

  async catchUp(resource: Resource): Promise<unknown> {
    return await Promise.all([this.of(resource).current(), this.refresh()])
  }

  /** Rejects with the store that `rest` follows. While another one is away, its cache stays as it is. */
  refresh(): Promise<unknown> | undefined {
    const [, ...own] = this.#all
    const waits = [this.#rest.refresh(), ...own.map((cache) => this.#refreshOwn(cache))]
    const begun = waits.filter((wait) => wait !== undefined)
    return begun.length === 0 ? undefined : Promise.all(begun)
  }

  /** A store that is away keeps one request waiting: later ones do not wait until it answers again. */
  #refreshOwn(cache: WatchCache): Promise<void> | undefined {
    const refreshed = cache.refresh()?.then(
      () => void this.#away.delete(cache),
      () => void this.#away.add(cache),
    )
    return this.#away.has(cache) ? undefined : refreshed
  }

  /** `cutRevision` is that of the store that `rest` follows. */
  get history(): Caches['history'] {
    const all = this.#all.map(({ history }) => history)
    return {
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      cutRevision: this.#rest.history.cutRevision,
      newestFirst: () => newestOf(all.map((history) => history.newestFirst())),
    }
  }

  collection(resource: Resource): Collection {
    return this.of(resource).collection(resource)
  }

  find(resource: Resource, key: string): Entry | undefined {
    return this.of(resource).find(resource, key)
  }

  get(resource: Resource, namespace: string, name: string): KubeObject | undefined {
    return this.of(resource).get(resource, namespace, name)
  }

  list(resource: Resource, namespace = ''): readonly KubeObject[] {
    return this.of(resource).list(resource, namespace)
  }

  onChange(resource: Resource, handler: (change: ObjectChange) => void): () => void {
    return this.of(resource).onChange(resource, handler)
  }

  prove(resource: Resource): void {
    this.of(resource).prove(resource)
  }

  async proveAll(pause: () => Promise<void>): Promise<void> {
    for (const cache of this.#all) await cache.proveAll(pause)
  }

  async reread(): Promise<void> {
    for (const cache of this.#all) await cache.reread()
  }

  async rereadUnreadable(): Promise<number> {
    const counts = await Promise.all(this.#all.map((cache) => cache.rereadUnreadable()))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  *unreadable(): IterableIterator<Unreadable> {
    for (const cache of this.#all) yield* cache.unreadable()
  }

  endWatches(storagePrefix: string): void {
    for (const cache of this.#all) cache.endWatches(storagePrefix)
  }

  forget(): void {
    for (const cache of this.#all) cache.forget()
  }

  *objectsIn(namespace: string): IterableIterator<Entry> {
    for (const cache of this.#all) yield* cache.objectsIn(namespace)
  }

  *sizes(): ReturnType<Caches['sizes']> {
    for (const cache of this.#all) yield* cache.sizes()
  }
}

/** Revisions of several stores have no order, so it goes by the time at which the server saw the commits. */
function* newestOf(histories: readonly Iterator<CacheEvent>[]): IterableIterator<CacheEvent> {
  const heads = histories.map((history) => history.next())
  for (;;) {
    let newest = -1
    let newestMs = -Infinity
    for (const [at, head] of heads.entries()) {
      if (head.done === true || head.value.appliedAtMs <= newestMs) continue
      newest = at
      newestMs = head.value.appliedAtMs
    }
    const head = heads[newest]
    const history = histories[newest]
    if (head === undefined || head.done === true || history === undefined) return
    yield head.value
    heads[newest] = history.next()
  }
}
