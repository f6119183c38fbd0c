/**
 * WatchCache: the store's newest state and last minutes of history in memory, applied in commit order. Every get, list and
 * watch is served from it; a write is answered only after its commit was applied, so each client reads its own writes.
 */
import { systemClock, type Clock } from '../../component-base/clock.ts'
import { silentLog, type Log } from '../../component-base/log.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { KeyValue, Store, StoreEvent } from '../../store/store.ts'
import type { ObjectChange } from './object-reader.ts'
import type { StorageTransformers } from '../encryption/transformer.ts'
import { allValuesOf, Arrivals } from './arrivals.ts'
import type { Caches } from './caches.ts'
import { ChangeHandlers } from './change-handlers.ts'
import { Collection, deletionsFirst, type Change } from './collection.ts'
import { Deliveries } from './deliveries.ts'
import { commitsBetween, eventsByCollection } from './earlier-history.ts'
import { CacheEvent, canDecode, Entry } from './entry.ts'
import { followStore, noLongerFollows, storedPages } from './follow-store.ts'
import { defaultHistoryBytes, History, type KeptEvent } from './history.ts'
import { OwnWrites } from './own-writes.ts'
import { RevisionWaits } from './revision-waits.ts'
import { RecentBytes } from './recent-bytes.ts'
import { RevisionMarks } from './revision-marks.ts'
import { RevisionReads } from './revision-reads.ts'
import { keyBelow, placesOf, splitStoreKey, storeRoot } from './store-keys.ts'
import { readStored, undecodable } from './stored-object.ts'
import { readState, type StoredState } from './stored-state.ts'
import { UndecodableError, type Unreadable } from './unreadable.ts'

/** Watch history and exact reads reach back this far (spec: Limits). */
export const defaultHistoryMs = 5 * 60 * 1000

const loadPageSize = 2000
/** Of what lies in the store's pages, bytes of this size are kept as they are sent. */
const recentBytes = 8 * 1024 * 1024
/** The most commits from before the start that are read for clients that go on where they were. */
const mostEarlierCommits = 20_000
/** About a millisecond's work. */
const proveAtOnce = 50

export class WatchCache implements Caches {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #historyMs: number
  readonly #history: History
  readonly #transformers: StorageTransformers | undefined
  readonly #arrivals: Arrivals
  readonly #isProven: boolean
  readonly #placeOf: typeof splitStoreKey
  readonly #reads: RevisionReads
  readonly #upgrade: (prefix: string, bytes: Buffer) => Buffer | undefined
  /** Entries that the store holds in the form of an earlier release. */
  readonly #outdated = new WeakSet<Entry>()
  readonly #collections = new Map<string, Collection>()
  readonly #recent = new RecentBytes(recentBytes)
  /** For its watchers. */
  readonly deliveries = new Deliveries()
  /** Writers note here what they store in another form than the cache holds. */
  readonly ownWrites = new OwnWrites()
  readonly #handlers = new ChangeHandlers()
  #revision = 0
  #startRevision = 0
  #startedAtMs = 0
  /** Collections that were never cut off have all events after it; at first it is the start. */
  #reached = 0
  #reaching: Promise<void> = Promise.resolve()
  readonly #waits = new RevisionWaits()
  #hasEnded = false
  readonly #marks: RevisionMarks

  /**
   * `upgrade` makes the current form of stored bytes that have an older one, and answers undefined for all others. Without
   * `transformers` the store holds the objects as they are. `isProven`: what it holds at the start are objects. `takes`: the
   * storage prefixes that are read from this store; default: all.
   */
  constructor(options: {
    store: Store
    clock: Clock
    log?: Log
    historyMs?: number
    historyBytes?: number
    transformers?: StorageTransformers | undefined
    upgrade?: (prefix: string, bytes: Buffer) => Buffer | undefined
    isProven?: boolean
    takes?: ((storagePrefix: string) => boolean) | undefined
  }) {
    this.#isProven = options.isProven ?? false
    this.#upgrade = options.upgrade ?? (() => undefined)
    const { transformers, takes } = options
    this.#placeOf = takes === undefined ? splitStoreKey : placesOf(takes)
    this.#transformers = transformers
    this.#arrivals = new Arrivals({
      transformerOf:
        transformers?.needsPreparing === false
          ? undefined
          : transformers && ((key) => transformers.of(splitStoreKey(key)?.prefix ?? '')),
      apply: (events) => this.#apply(events),
    })
    this.#store = options.store
    // Requests arrive in real time, whatever the cluster's time does.
    this.#reads = new RevisionReads(() => options.store.revision(), systemClock)
    this.#clock = options.clock
    this.#log = options.log ?? silentLog
    this.#historyMs = options.historyMs ?? defaultHistoryMs
    this.#marks = new RevisionMarks(this.#historyMs)
    this.#history = new History({
      maxAgeMs: this.#historyMs,
      maxBytes: options.historyBytes ?? defaultHistoryBytes,
    })
  }

  /** Loads the newest state and follows the store from there. `run` ends when `signal` aborts, or fails with the store. */
  async start(signal: AbortSignal): Promise<{ run: Promise<void> }> {
    const { revision, collections } = await this.#readState()
    this.#begin(revision)
    for (const [prefix, { entries, unreadable }] of collections) {
      for (const entry of entries) {
        entry.lieIn(this.#recent)
        if (this.#isProven) entry.isProven = true
      }
      this.#collection(prefix).load(entries, unreadable)
    }
    return { run: this.#follow(signal).finally(() => this.#end()) }
  }

  /** Where the cache begins, also when it begins again. */
  #begin(revision: number): void {
    this.#revision = revision
    this.#startRevision = revision
    this.#reached = revision
    this.#startedAtMs = this.#clock.now()
    this.#history.begin(this.#startedAtMs)
    this.#marks.clear()
  }

  async #readState(): Promise<StoredState> {
    return await readState(storedPages(this.#store, storeRoot), {
      prepare: (kvs) => this.#arrivals.prepare(kvs),
      placeOf: this.#placeOf,
      read: (kv, place) => this.#read(kv, place),
      known: ({ prefix, key }) => this.#collections.get(prefix)?.get(key),
    })
  }

  #follow(signal: AbortSignal): Promise<void> {
    const follower = {
      store: this.#store,
      clock: this.#clock,
      log: this.#log,
      prefix: storeRoot,
      revision: () => this.#revision,
      receive: (events: readonly StoreEvent[]) => this.#arrivals.receive(events),
      settled: () => this.#arrivals.settled(),
      readState: () => this.#readState(),
      beginAgain: (state: StoredState) => this.#beginAgain(state),
    }
    return followStore(follower, signal)
  }

  /**
   * Watches end, since what came between is unknown; a client that asks for an older revision gets 410 and lists again
   * (upstream: the cacher starts over). Handlers get the differences, deletions first.
   */
  #beginAgain({ revision, collections }: StoredState): void {
    this.#history.clear()
    this.#begin(revision)
    const changes: (Change & { prefix: string })[] = []
    for (const prefix of new Set([...this.#collections.keys(), ...collections.keys()])) {
      const stored = collections.get(prefix) ?? { entries: [], unreadable: [] }
      const changed = this.#collection(prefix).replaceAll(stored, revision)
      for (const change of changed) changes.push({ prefix, ...change })
    }
    for (const { prefix, entry, previous } of changes.toSorted(deletionsFirst)) {
      const isReadable = entry === undefined || entry.isProven || this.#proven(prefix, entry)
      this.#handlers.tell(prefix, {
        entry: isReadable ? entry : undefined,
        previous: previous !== undefined && canDecode(previous) ? previous : undefined,
      })
    }
    this.#waits.resolveUpTo(this.#revision)
  }

  /** True when the store holds the entry in an older form than its bytes: any write is worth it. */
  isOutdated(entry: Entry): boolean {
    return this.#outdated.has(entry)
  }

  #read(kv: KeyValue, place: { prefix: string; key: string }): Entry | Unreadable {
    let isOutdated = false
    const read = readStored(kv, place.key, {
      transformer: this.#transformers?.of(place.prefix),
      ownWrites: this.ownWrites,
      upgrade: (bytes) => {
        const upgraded = this.#upgrade(place.prefix, bytes)
        if (upgraded !== undefined) isOutdated = true
        return upgraded ?? bytes
      },
      onStale: () => void (isOutdated = true),
    })
    if (isOutdated && read instanceof Entry) this.#outdated.add(read)
    return read
  }

  /** Reads the store again: other keys may be readable now, and some no longer. For when the transformers have changed. */
  async reread(): Promise<void> {
    for await (const { kvs } of storedPages(this.#store, storeRoot)) {
      await this.#arrivals.prepare(kvs)
      for (const kv of kvs) this.#reread(kv)
    }
  }

  /** Reads again what could not be read; resolves with how many can be read now. For when a key may be there again. */
  async rereadUnreadable(): Promise<number> {
    const keys = Array.from(this.unreadable(), (unreadable) => unreadable.storeKey)
    let count = 0
    // Together, so that objects under the same key wait for one call.
    for (let at = 0; at < keys.length; at += loadPageSize) {
      const found = keys.slice(at, at + loadPageSize).map((key) => this.#store.get(key))
      const kvs = (await Promise.all(found)).filter((kv) => kv !== undefined)
      await this.#arrivals.prepare(kvs)
      for (const kv of kvs) if (this.#reread(kv)) count += 1
    }
    return count
  }

  /** True when a key is readable now and was not before, or the other way round. */
  #reread(kv: KeyValue): boolean {
    const place = this.#placeOf(kv.key)
    if (place === undefined) return false
    const collection = this.#collection(place.prefix)
    const known = collection.get(place.key)
    const hidden = collection.unreadable.get(place.key)
    // Later writes are read from the events of their commits.
    if ((known ?? hidden)?.revision !== kv.modRevision) return false
    const read = this.#read(kv, place)
    // The reason may be another one now.
    if (!(read instanceof Entry) && known === undefined) collection.loadUnreadable(read)
    if (read instanceof Entry === (known !== undefined)) return false
    this.#replace(place, read instanceof Entry ? { entry: read } : { unreadable: read })
    return true
  }

  /** The readable entry of a key, looked into at least once; undefined without one, or if it cannot be read. */
  find(resource: Resource, key: string): Entry | undefined {
    const entry = this.collection(resource).get(key)
    if (entry === undefined || entry.isProven) return entry
    return this.#proven(resource.storagePrefix, entry)
  }

  #proven(prefix: string, entry: Entry): Entry | undefined {
    try {
      entry.prove()
      return entry
    } catch (error) {
      if (!(error instanceof UndecodableError)) throw error
      const { key, revision } = entry
      const storeKeyText = keyBelow(prefix, key)
      this.#replace({ prefix, key }, { unreadable: undecodable({ key, storeKeyText, revision }) })
      return undefined
    }
  }

  /**
   * Decodes all entries that no reader has decoded since the start, and records the unreadable ones. Slow for many entries,
   * so it awaits `pause` every now and then. Resolves after the last entry.
   */
  async proveAll(pause: () => Promise<void>): Promise<void> {
    let looked = 0
    for (const [prefix, collection] of this.#collections) {
      for (const entry of collection.snapshot(this.#revision).entries('')) {
        if (entry.isProven || collection.get(entry.key) !== entry) continue
        this.#proven(prefix, entry)
        looked += 1
        if (looked % proveAtOnce === 0) await pause()
      }
    }
  }

  /** Looks into all entries of one resource, at once. */
  prove(resource: Resource): void {
    for (const entry of this.collection(resource).snapshot(this.#revision).entries('')) {
      if (!entry.isProven) this.#proven(resource.storagePrefix, entry)
    }
  }

  /** What is stored and cannot be read, over all resources. */
  *unreadable(): IterableIterator<Unreadable> {
    for (const collection of this.#collections.values()) yield* collection.unreadable.values()
  }

  #replace(
    place: { prefix: string; key: string },
    to: { entry?: Entry; unreadable?: Unreadable },
  ): void {
    const collection = this.#collection(place.prefix)
    const known = collection.get(place.key)
    // No watcher has seen an object that cannot be read, so none sees its deletion.
    const previous = known !== undefined && canDecode(known) ? known : undefined
    collection.replaceUnreadable(place.key, { revision: this.#revision, ...to })
    this.#handlers.tell(place.prefix, { entry: to.entry, previous })
  }

  #collection(prefix: string): Collection {
    let collection = this.#collections.get(prefix)
    if (collection === undefined) {
      collection = new Collection({ startRevision: this.#reached })
      this.#collections.set(prefix, collection)
    }
    return collection
  }

  #apply(events: readonly StoreEvent[]): void {
    const appliedAtMs = this.#clock.now()
    for (const event of events) {
      const storeKeyText = event.type === 'put' ? event.kv.key : event.key
      const revision = event.type === 'put' ? event.kv.modRevision : event.revision
      const place = this.#placeOf(storeKeyText)
      if (place !== undefined) {
        const collection = this.#collection(place.prefix)
        const entry = event.type === 'put' ? this.#read(event.kv, place) : undefined
        const known = collection.get(place.key)
        const previous = known?.isProven === false ? this.#proven(place.prefix, known) : known
        const isReadable = entry === undefined || entry instanceof Entry
        if (!isReadable || collection.unreadable.has(place.key)) {
          this.#revision = revision
          this.#replace(
            place,
            entry === undefined ? {} : isReadable ? { entry } : { unreadable: entry },
          )
        } else if (entry !== undefined || previous !== undefined) {
          this.#revision = revision
          const change = new CacheEvent({ revision, entry, previous, appliedAtMs })
          this.#history.add({ collection, event: change })
          collection.apply(change)
          this.#handlers.tell(place.prefix, { entry, previous })
          entry?.settle()
          previous?.settle()
        }
      }
      this.#revision = revision
    }
    this.#waits.resolveUpTo(this.#revision)
  }

  /** The newest revision applied. */
  get revision(): number {
    return this.#revision
  }

  of(): WatchCache {
    return this
  }

  collection(resource: Resource): Collection {
    return this.#collection(resource.storagePrefix)
  }

  /** Ends the watches of what is stored there: its kind is no longer what it was. */
  endWatches(storagePrefix: string): void {
    this.#collections.get(storagePrefix)?.endWatches()
  }

  /** Whether it still follows the store. */
  get isFollowing(): boolean {
    return !this.#hasEnded
  }

  /** Rejects every wait for a revision that will not come. */
  #end(): void {
    this.#hasEnded = true
    this.#waits.rejectAll(noLongerFollows())
  }

  /** Resolves once the commit numbered `revision` is in the cache; rejects when the cache no longer follows the store. */
  async applied(revision: number): Promise<void> {
    if (this.#revision >= revision) return
    if (this.#hasEnded) throw noLongerFollows()
    await this.#waits.come(revision)
  }

  /** Resolves once the cache is at least as new as the store was at the call: what a consistent read waits for. */
  async current(): Promise<number> {
    const newest = await (this.#store.isShared ? this.#reads.revision() : this.#store.revision())
    await this.applied(newest)
    return this.#revision
  }

  async catchUp(): Promise<unknown> {
    return await this.current()
  }

  /** Whether other processes write to the store: then the cache may be older than the store. */
  get isShared(): boolean {
    return this.#store.isShared
  }

  /** As `current`, where the cache may be older than the store; undefined where it cannot be. */
  refresh(): Promise<number> | undefined {
    return this.#store.isShared ? this.current() : undefined
  }

  /**
   * Has the history go back to `revision` if the store still has it: a client whose server was restarted goes on where it
   * was. It reads the store only when a client asks, and only once; the rest is the same as for any revision.
   */
  async reach(revision: number): Promise<void> {
    if (revision >= this.#reached) return
    const reaching = this.#reaching.then(async () => await this.#reachBack(revision))
    this.#reaching = reaching.catch(() => {
      // The caller gets the error.
    })
    await reaching
  }

  async #reachBack(revision: number): Promise<void> {
    const isPast = this.#clock.now() >= this.#startedAtMs + this.#historyMs
    const isTooFar = revision < this.#startRevision - mostEarlierCommits
    if (revision >= this.#reached || isPast || isTooFar) return
    const upTo = this.#reached
    const commits = await commitsBetween(this.#store, { after: revision, upTo })
    if (commits === undefined) return
    await this.#arrivals.prepare(allValuesOf(commits))
    const byPrefix = eventsByCollection(commits, {
      placeOf: this.#placeOf,
      read: (kv, place) => this.#read(kv, place),
      known: ({ prefix, key }) => this.#collections.get(prefix)?.get(key),
      appliedAtMs: this.#startedAtMs,
    })
    for (const prefix of byPrefix.keys()) this.#collection(prefix)
    const earlier: KeptEvent[] = []
    for (const [prefix, collection] of this.#collections) {
      const events = byPrefix.has(prefix) ? byPrefix.get(prefix) : []
      if (events === undefined || !collection.prepend(events, { after: revision, upTo })) continue
      for (const event of events) earlier.push({ collection, event })
    }
    earlier.sort((one, other) => one.event.revision - other.event.revision)
    this.#history.addEarlier(earlier)
    this.#reached = revision
    this.#history.trim(this.#clock.now())
  }

  /** What is kept of the past: how many bytes it holds, and up to which revision bytes were the reason to drop it. */
  get history(): Pick<History, 'bytes' | 'cutRevision' | 'newestFirst' | 'revisionAt'> {
    return this.#history
  }

  /** Forgets history past its time in all collections; called every now and then. */
  forget(): void {
    const nowMs = this.#clock.now()
    this.#history.trim(nowMs)
    for (const collection of this.#collections.values()) collection.forget()
    this.#marks.note(nowMs, this.#revision)
  }

  /** False when `revision` was overtaken longer ago than the history reaches, be it by a change of something else. */
  retains(revision: number): boolean {
    return revision >= this.#marks.start
  }

  /** Every object of the namespace, whatever its kind, as it is now; none that cannot be read. */
  *objectsIn(namespace: string): IterableIterator<Entry> {
    for (const [prefix, collection] of this.#collections) {
      for (const entry of collection.snapshot(this.#revision).entries(`${namespace}/`)) {
        if (entry.isProven || this.#proven(prefix, entry) !== undefined) yield entry
      }
    }
  }

  /** Objects by storage prefix, for metrics. */
  *sizes(): IterableIterator<{ prefix: string; objects: number; watchers: number }> {
    for (const [prefix, collection] of this.#collections) {
      yield { prefix, objects: collection.size, watchers: collection.watchers }
    }
  }

  get(resource: Resource, namespace: string, name: string): KubeObject | undefined {
    const key = resource.namespaced ? `${namespace}/${name}` : name
    return this.find(resource, key)?.object()
  }

  list(resource: Resource, namespace = ''): readonly KubeObject[] {
    const prefix = resource.namespaced && namespace !== '' ? `${namespace}/` : ''
    const snapshot = this.collection(resource).snapshot(this.#revision)
    const objects: KubeObject[] = []
    for (const entry of snapshot.entries(prefix)) {
      if (entry.isProven || this.#proven(resource.storagePrefix, entry) !== undefined) {
        objects.push(entry.object())
      }
    }
    return objects
  }

  onChange(resource: Resource, handler: (change: ObjectChange) => void): () => void {
    return this.#handlers.add(resource.storagePrefix, handler)
  }
}
