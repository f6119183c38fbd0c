/** Collection: the live index, the recent history and the watchers of one stored resource. All reads are views of it. */
import { compareTexts, SortedMap, sortKey } from '../../component-base/sorted-map.ts'
import type { CacheEvent, Entry } from './entry.ts'
import type { StoredCollection } from './stored-state.ts'
import type { Unreadable } from './unreadable.ts'
import { ValueIndex } from './value-index.ts'
import type { SelectedValue, Watcher } from './watcher.ts'
import { Watchers } from './watchers.ts'

/** By `sortKey`. */
type Index = SortedMap<string, Entry>

/** A consistent view of a collection at one revision. Cheap to hold: it shares its pages with the live index. */
export interface Snapshot {
  readonly revision: number
  get(key: string): Entry | undefined
  /** Entries in key order, from `from` on, whose key starts with `prefix`. */
  entries(prefix: string, from?: string): IterableIterator<Entry>
  /**
   * The same without some that lack the selected value. While nothing has changed since a snapshot of the newest state, an index
   * finds them; it is made by the first call, which throws UndecodableError.
   */
  entriesWith(selected: SelectedValue, prefix: string, from?: string): Iterable<Entry>
  /** How many keys are in the snapshot with this prefix, counting from `from`. Slow for many, unless it is known. */
  count(prefix: string, from?: string): number
  /** Makes known what `count` would answer: a client that lists page by page needs it next. */
  noteCount(prefix: string, from: string, count: number): void
}

/** What became of a key. Without `entry` it is gone, or cannot be read. */
export interface Change {
  readonly entry: Entry | undefined
  readonly previous: Entry | undefined
}

/** What takes the place of something deleted, such as an address, comes after it. */
export function deletionsFirst(a: Change, b: Change): number {
  return Number(a.entry !== undefined) - Number(b.entry !== undefined)
}

const keptSnapshots = 4
/** About one for each list that is being read page by page. */
const keptCounts = 256

export class Collection {
  readonly #byKey = new Map<string, Entry>()
  #index: Index = new SortedMap<string, Entry>(compareTexts)
  #history: (CacheEvent | undefined)[] = []
  /** Where the oldest event is in `#history`. */
  #head = 0
  /** Watches and snapshots from revisions below this are gone. */
  #oldestRevision: number
  readonly #watchers = new Watchers()
  readonly #snapshots = new Map<number, Snapshot>()
  readonly #unreadable = new Map<string, Unreadable>()
  /** Keys by what stands before their slash. */
  readonly #namespaceSizes = new Map<string, number>()
  /** Of the fields that lists have selected by. */
  readonly #byValue = new Map<string, ValueIndex>()
  /** Rises with every change. */
  #changes = 0
  /** Rises when a key comes or goes. */
  #keyChanges = 0
  /** Counts of snapshots by revision, prefix and start, the newest last. */
  readonly #counts = new Map<string, number>()

  constructor(options: { startRevision: number }) {
    this.#oldestRevision = options.startRevision
  }

  /** Puts all that the store already held, in key order, before any event. */
  load(entries: readonly Entry[], unreadable: readonly Unreadable[]): void {
    this.#changes += 1
    this.#byValue.clear()
    const keys = entries.map(({ key }) => sortKey(key))
    this.#index = SortedMap.ofSorted(compareTexts, keys, entries)
    for (const entry of entries) {
      this.#byKey.set(entry.key, entry)
      this.#countKey(entry.key, 1)
    }
    for (const one of unreadable) this.#unreadable.set(one.key, one)
  }

  /**
   * Puts what the store holds at `revision`, in key order, in the place of all that is here, and returns the differences. What
   * came between is unknown: watches end, and history begins anew.
   */
  replaceAll({ entries, unreadable }: StoredCollection, revision: number): Change[] {
    const before = new Map(this.#byKey)
    this.#byKey.clear()
    this.#namespaceSizes.clear()
    this.#unreadable.clear()
    this.load(entries, unreadable)
    this.#beginAnew(revision)
    const changes: Change[] = []
    for (const entry of entries) {
      const previous = before.get(entry.key)
      before.delete(entry.key)
      if (previous?.revision !== entry.revision) changes.push({ entry, previous })
    }
    for (const previous of before.values()) changes.push({ entry: undefined, previous })
    return changes
  }

  #put(entry: Entry): void {
    const { key } = entry
    const previous = this.#byKey.get(key)
    this.#byKey.set(key, entry)
    this.#index.set(sortKey(key), entry)
    if (previous === undefined) this.#countKey(key, 1)
    this.#noteChange(previous, entry)
  }

  #noteChange(previous: Entry | undefined, entry: Entry | undefined): void {
    this.#changes += 1
    for (const index of this.#byValue.values()) index.replace(previous, entry)
  }

  #remove(key: string): void {
    const previous = this.#byKey.get(key)
    if (previous === undefined) return
    this.#byKey.delete(key)
    this.#index.delete(sortKey(key))
    this.#noteChange(previous, undefined)
    this.#countKey(key, -1)
  }

  #countKey(key: string, by: number): void {
    this.#keyChanges += 1
    const slash = key.indexOf('/')
    if (slash < 0) return
    const namespace = key.slice(0, slash + 1)
    const size = (this.#namespaceSizes.get(namespace) ?? 0) + by
    if (size > 0) this.#namespaceSizes.set(namespace, size)
    else this.#namespaceSizes.delete(namespace)
  }

  get size(): number {
    return this.#byKey.size + this.#unreadable.size
  }

  /** Keys that are stored and cannot be read; nearly always none. */
  get unreadable(): ReadonlyMap<string, Unreadable> {
    return this.#unreadable
  }

  /**
   * A key can no longer be read, or can be again (`entry`), or is gone (neither). What watchers saw last is unknown
   * then: watches end, history begins anew, and clients list again (upstream: the cacher starts over).
   */
  replaceUnreadable(
    key: string,
    at: { revision: number; entry?: Entry | undefined; unreadable?: Unreadable | undefined },
  ): void {
    // They would have to decode what cannot be read.
    this.#byValue.clear()
    this.#remove(key)
    this.#unreadable.delete(key)
    if (at.unreadable !== undefined) this.#unreadable.set(key, at.unreadable)
    if (at.entry !== undefined) this.#put(at.entry)
    this.#beginAnew(at.revision)
  }

  #beginAnew(revision: number): void {
    this.#counts.clear()
    this.#history = []
    this.#head = 0
    this.#oldestRevision = revision
    this.#snapshots.clear()
    this.endWatches()
  }

  /** Ends all watches; queued events are still delivered. */
  endWatches(): void {
    this.#watchers.end()
  }

  /** Notes another reason why a key cannot be read. */
  loadUnreadable(unreadable: Unreadable): void {
    this.#unreadable.set(unreadable.key, unreadable)
  }

  get(key: string): Entry | undefined {
    return this.#byKey.get(key)
  }

  /** Applies one commit, keeps it in the history and hands it to the watchers. */
  apply(event: CacheEvent): void {
    if (event.entry === undefined) this.#remove(event.key)
    else this.#put(event.entry)
    this.#history.push(event)
    this.#watchers.offer(event)
  }

  /**
   * Puts events before the oldest, so that the history begins at `after`. Does nothing and answers false unless it began at
   * `upTo`: events that were dropped since then stay dropped.
   */
  prepend(
    events: readonly CacheEvent[],
    { after, upTo }: { after: number; upTo: number },
  ): boolean {
    if (this.#oldestRevision !== upTo || this.#unreadable.size > 0) return false
    this.#history = [...events, ...this.#history.slice(this.#head)]
    this.#head = 0
    this.#oldestRevision = after
    return true
  }

  /** Forgets its oldest event, if that is still the one: the history began anew otherwise. */
  drop(event: CacheEvent): void {
    if (this.#history[this.#head] !== event) return
    this.#oldestRevision = event.revision
    this.#history[this.#head] = undefined
    this.#head += 1
    if (this.#head <= 1024 || this.#head * 2 <= this.#history.length) return
    this.#history = this.#history.slice(this.#head)
    this.#head = 0
  }

  /** Forgets snapshots from before the history; called now and then. */
  forget(): void {
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
    const keyChanges = this.#keyChanges
    const changes = this.#changes
    const index = this.#index.snapshot()
    const hasNewestKeys = (): boolean => keyChanges === this.#keyChanges
    const isNewest = (): boolean => changes === this.#changes
    return this.#snapshotOf({ index, revision, hasNewestKeys, isNewest })
  }

  #valueIndex({ field, valueOf }: SelectedValue): ValueIndex {
    let index = this.#byValue.get(field)
    if (index === undefined) {
      index = new ValueIndex(valueOf, this.#byKey.values())
      this.#byValue.set(field, index)
    }
    return index
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
      const key = sortKey(event.key)
      if (event.previous === undefined) index.delete(key)
      else index.set(key, event.previous)
    }
    const isPast = (): boolean => false
    const snapshot = this.#snapshotOf({ index, revision, hasNewestKeys: isPast, isNewest: isPast })
    this.#snapshots.set(revision, snapshot)
    for (const old of this.#snapshots.keys()) {
      if (this.#snapshots.size <= keptSnapshots) break
      this.#snapshots.delete(old)
    }
    return snapshot
  }

  /** `isNewest` tells whether the collection is the same still, `hasNewestKeys` whether it has the same keys. */
  #snapshotOf(of: {
    index: Index
    revision: number
    hasNewestKeys: () => boolean
    isNewest: () => boolean
  }): Snapshot {
    const { index, revision, hasNewestKeys, isNewest } = of
    const countOf = (prefix: string, from: string): number => {
      if (prefix === '' && from === '') return index.size
      const isNamespace = from <= prefix && prefix.endsWith('/')
      if (isNamespace && hasNewestKeys()) return this.#namespaceSizes.get(prefix) ?? 0
      return countFrom(index, sortKey(prefix), sortKey(from))
    }
    const nameOf = (prefix: string, from: string): string => `${revision} ${prefix} ${from}`
    return {
      revision,
      get: (key) => index.get(sortKey(key)),
      entries: (prefix, from = '') => withPrefix(index, sortKey(prefix), sortKey(from)),
      entriesWith: (selected, prefix, from = '') =>
        isNewest()
          ? this.#valueIndex(selected).entriesOf(selected.value, prefix, from)
          : withPrefix(index, sortKey(prefix), sortKey(from)),
      count: (prefix, from = '') => this.#counts.get(nameOf(prefix, from)) ?? countOf(prefix, from),
      noteCount: (prefix, from, count) => {
        this.#counts.set(nameOf(prefix, from), count)
        if (this.#counts.size <= keptCounts) return
        const [oldest = ''] = this.#counts.keys()
        this.#counts.delete(oldest)
      },
    }
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

function countFrom(index: Index, prefix: string, from: string): number {
  if (prefix === '') return index.count(from)
  const last = prefix.length - 1
  const end = prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1)
  return index.count(from < prefix ? prefix : from, end)
}
