/** Collection: the live index, the recent history and the watchers of one stored resource. All reads are views of it. */
import { SortedMap } from '../../component-base/sorted-map.ts'
import type { CacheEvent, Entry } from './entry.ts'
import type { Watcher } from './watcher.ts'

type Index = SortedMap<string, Entry>

/** Keys are ASCII (names are validated), so the language's own order is the bytewise one. */
function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** A consistent view of a collection at one revision. Cheap to hold: it shares its pages with the live index. */
export interface Snapshot {
  readonly revision: number
  /** Entries in key order, from `from` on, whose key starts with `prefix`. */
  entries(prefix: string, from?: string): IterableIterator<Entry>
  /** How many keys are in the snapshot with this prefix, counting from `from`. */
  count(prefix: string, from?: string): number
}

const keptSnapshots = 4

export class Collection {
  readonly #byKey = new Map<string, Entry>()
  readonly #index: Index = new SortedMap<string, Entry>(compareKeys)
  #history: CacheEvent[] = []
  #head = 0
  /** Watches and snapshots from revisions below this are gone. */
  #oldestRevision: number
  readonly #historyMs: number
  readonly #watchers = new Set<Watcher>()
  readonly #snapshots = new Map<number, Snapshot>()

  constructor(options: { startRevision: number; historyMs: number }) {
    this.#oldestRevision = options.startRevision
    this.#historyMs = options.historyMs
  }

  /** Puts what the store already held, before any event. */
  load(entry: Entry): void {
    this.#byKey.set(entry.key, entry)
    this.#index.set(entry.key, entry)
  }

  get size(): number {
    return this.#byKey.size
  }

  get(key: string): Entry | undefined {
    return this.#byKey.get(key)
  }

  /** Applies one commit, keeps it in the history and hands it to the watchers. */
  apply(event: CacheEvent): void {
    if (event.entry === undefined) {
      this.#byKey.delete(event.key)
      this.#index.delete(event.key)
    } else {
      this.#byKey.set(event.key, event.entry)
      this.#index.set(event.key, event.entry)
    }
    this.#history.push(event)
    this.#trim(event.appliedAtMs)
    for (const watcher of this.#watchers) watcher.offer(event)
  }

  #trim(nowMs: number): void {
    const limit = nowMs - this.#historyMs
    while (this.#head < this.#history.length) {
      const oldest = this.#history[this.#head]
      if (oldest === undefined || oldest.appliedAtMs >= limit) break
      this.#oldestRevision = oldest.revision
      this.#head += 1
    }
    if (this.#head > 1024 && this.#head * 2 > this.#history.length) {
      this.#history = this.#history.slice(this.#head)
      this.#head = 0
    }
  }

  /** Drops what is older than the history's length; called now and then so that an idle collection forgets too. */
  forget(nowMs: number): void {
    this.#trim(nowMs)
    for (const revision of this.#snapshots.keys()) {
      if (revision < this.#oldestRevision) this.#snapshots.delete(revision)
    }
  }

  /** The first event after `revision`, or undefined when that part of the history is gone. */
  #positionAfter(revision: number): number | undefined {
    if (revision < this.#oldestRevision) return undefined
    let low = this.#head
    let high = this.#history.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#history[middle]?.revision ?? 0) <= revision) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The newest state; `revision` is the whole cache's, which the caller knows. */
  snapshot(revision: number): Snapshot {
    return snapshotOf(this.#index.snapshot(), revision)
  }

  /** The state at exactly `revision`, or undefined when it is older than the history. */
  snapshotAt(revision: number): Snapshot | undefined {
    const kept = this.#snapshots.get(revision)
    if (kept !== undefined) return kept
    const position = this.#positionAfter(revision)
    if (position === undefined) return undefined
    const index = this.#index.snapshot()
    for (let at = this.#history.length - 1; at >= position; at -= 1) {
      const event = this.#history[at]
      if (event === undefined) continue
      if (event.previous === undefined) index.delete(event.key)
      else index.set(event.key, event.previous)
    }
    const snapshot = snapshotOf(index, revision)
    this.#snapshots.set(revision, snapshot)
    for (const old of this.#snapshots.keys()) {
      if (this.#snapshots.size <= keptSnapshots) break
      this.#snapshots.delete(old)
    }
    return snapshot
  }

  /** Hands `watcher` everything after `revision` and then every further commit; false when that history is gone. */
  attach(watcher: Watcher, revision: number): boolean {
    const position = this.#positionAfter(revision)
    if (position === undefined) return false
    for (let at = position; at < this.#history.length; at += 1) {
      const event = this.#history[at]
      if (event !== undefined) watcher.offer(event)
    }
    this.#watchers.add(watcher)
    return true
  }

  detach(watcher: Watcher): void {
    this.#watchers.delete(watcher)
  }

  get watchers(): number {
    return this.#watchers.size
  }
}

function* withPrefix(index: Index, prefix: string, from: string): IterableIterator<Entry> {
  for (const [key, entry] of index.entries(from < prefix ? prefix : from)) {
    if (!key.startsWith(prefix)) return
    yield entry
  }
}

function snapshotOf(index: Index, revision: number): Snapshot {
  return {
    revision,
    entries: (prefix, from = '') => withPrefix(index, prefix, from),
    count: (prefix, from = '') => {
      if (prefix === '' && from === '') return index.size
      let count = 0
      for (const _ of withPrefix(index, prefix, from)) count += 1
      return count
    },
  }
}
