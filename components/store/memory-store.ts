/** A store in memory, for tests and throw-away clusters: the revision index with every value kept in it. */
import { loadable } from './loadable.ts'
import { eventOf, existing, keyValueOf, RevisionIndex, type Version } from './revision-index.ts'
import {
  StoreError,
  type KeyValue,
  type RangeOptions,
  type RangeResult,
  type Store,
  type StoreEvent,
  type Txn,
  type TxnResult,
  type WatchOptions,
} from './store.ts'
import { WatchHub } from './watch-hub.ts'

/** A new, empty store. Nothing survives the process. */
export function createMemoryStore(): Store {
  return new MemoryStore()
}

class MemoryStore implements Store {
  readonly isShared = false
  readonly #index = new RevisionIndex()
  readonly #hub = new WatchHub({
    index: this.#index,
    eventsOf: async (versions) => versions.map(toEvent),
  })
  #isClosed = false

  async load(kvs: Iterable<KeyValue> | AsyncIterable<KeyValue>, revision: number): Promise<void> {
    this.#checkOpen()
    const all = await loadable(kvs, revision)
    this.#index.load(all, revision)
  }

  async get(key: string): Promise<KeyValue | undefined> {
    this.#checkOpen()
    const version = this.#index.head(key)
    return version && toKeyValue(version)
  }

  async range(options: RangeOptions): Promise<RangeResult> {
    this.#checkOpen()
    const revision = options.atRevision ?? this.#index.committed
    this.#index.checkReadable(revision)
    const kvs: KeyValue[] = []
    for (const version of this.#index.scan({ ...options, atRevision: revision })) {
      if (kvs.length === options.limit) return { kvs, revision, more: true }
      kvs.push(toKeyValue(version))
    }
    return { kvs, revision, more: false }
  }

  async txn(txn: Txn): Promise<TxnResult> {
    this.#checkOpen()
    const current = this.#index.head(txn.key)
    if ((current?.revision ?? 0) !== txn.expectedRevision)
      return current === undefined ? { ok: false } : { ok: false, current: toKeyValue(current) }
    if (current === undefined && txn.value === null)
      return { ok: true, revision: this.#index.committed }
    const version = this.#index.append(txn.key, txn.value)
    this.#index.commit(version)
    this.#hub.publish([toEvent(version)])
    return { ok: true, revision: version.revision }
  }

  async revision(): Promise<number> {
    this.#checkOpen()
    return this.#index.committed
  }

  async watch(options: WatchOptions, sink: (events: readonly StoreEvent[]) => void): Promise<void> {
    this.#checkOpen()
    return this.#hub.watch(options, sink)
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen()
    this.#index.compact(revision)
  }

  async check(): Promise<undefined> {
    this.#checkOpen()
    return undefined
  }

  async sizeBytes(): Promise<undefined> {
    this.#checkOpen()
    return undefined
  }

  async releaseMemory(): Promise<void> {
    this.#checkOpen()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#hub.close()
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new StoreError('closed', 'the store has been closed')
  }
}

function toKeyValue(version: Version): KeyValue {
  if (version.value === undefined) throw new Error(`the value of ${version.key} is not in memory`)
  return keyValueOf(version, version.value)
}

function toEvent(version: Version): StoreEvent {
  const previous = existing(version.previous)
  return eventOf({
    version,
    value: version.value,
    previous: previous && toKeyValue(previous),
  })
}
