/**
 * RevisionIndex: which key held which revision when, in memory. Each key's versions form a chain from the newest back to
 * the last compaction; the log lists the commits since then (model: etcd's treeIndex over a store keyed by revision).
 */
import { compareTexts, SortedMap, sortKey } from '../component-base/sorted-map.ts'
import { StoreError, type KeyValue, type StoreEvent } from './store.ts'

/** The effect of one commit on one key. */
export interface Version {
  readonly key: string
  readonly revision: number
  /** 0: the commit deleted the key. */
  readonly createRevision: number
  /** Set while the bytes are in memory; a deletion has none. */
  value: Buffer | undefined
  /** The version before, deletions included; undefined from the last compaction back. */
  previous: Version | undefined
}

/** One key's versions; `newest` may be pending. Shared by the live order and its snapshots, which look past what is too new. */
interface KeyHistory {
  newest: Version | undefined
}

export interface ScanOptions {
  readonly prefix: string
  readonly from?: string | undefined
  readonly atRevision: number
}

export class RevisionIndex {
  readonly #byKey = new Map<string, KeyHistory>()
  /** The same histories in key order, by `sortKey`. It changes only when a key comes or goes. */
  #inOrder = new SortedMap<string, KeyHistory>(compareTexts)
  /** Commits after `#compacted`, one for each revision. */
  #log: Version[] = []
  #committed = 0
  #compacted = 0
  #pending = 0

  constructor(options: { compactedRevision?: number } = {}) {
    this.#compacted = options.compactedRevision ?? 0
    this.#committed = this.#compacted
  }

  /** The newest committed revision. */
  get committed(): number {
    return this.#committed
  }

  /** History before this revision is gone. */
  get compacted(): number {
    return this.#compacted
  }

  /** The key's value once everything pending has committed; undefined when it does not exist then. */
  head(key: string): Version | undefined {
    return existing(this.newest(key))
  }

  /** The newest version of the key, a deletion included, committed or pending. */
  newest(key: string): Version | undefined {
    return this.#byKey.get(key)?.newest
  }

  /** The key's value at a revision. The caller checks that the revision is one the index has. */
  at(key: string, revision: number): Version | undefined {
    return versionAt(this.newest(key), revision)
  }

  isCommitted(version: Version): boolean {
    return version.revision <= this.#committed
  }

  /** Adds a pending version under the next revision. `value` null deletes. */
  append(key: string, value: Buffer | null): Version {
    if (!key.isWellFormed()) throw new TypeError(`the key ${JSON.stringify(key)} has no UTF-8 form`)
    const previous = this.newest(key)
    const revision = this.#committed + ++this.#pending
    const createRevision = value === null ? 0 : previous?.createRevision || revision
    // A busy key is in memory once.
    const kept = previous?.key ?? key
    return this.#add({ key: kept, revision, createRevision, value: value ?? undefined, previous })
  }

  #add(version: Version): Version {
    const history = this.#byKey.get(version.key)
    if (history === undefined) {
      const added: KeyHistory = { newest: version }
      this.#byKey.set(version.key, added)
      this.#inOrder.set(sortKey(version.key), added)
    } else {
      history.newest = version
    }
    return version
  }

  #remove(key: string): void {
    this.#byKey.delete(key)
    this.#inOrder.delete(sortKey(key))
  }

  /** Makes the oldest pending version the newest committed one. */
  commit(version: Version): void {
    if (version.revision !== this.#committed + 1) throw new Error('commits must come in order')
    this.#committed = version.revision
    this.#pending--
    this.#log.push(version)
  }

  /** Takes back every pending version; `versions` are all of them in the order they were appended. */
  rollback(versions: readonly Version[]): void {
    for (const { key, previous } of versions.toReversed()) {
      const history = this.#byKey.get(key)
      if (previous === undefined) this.#remove(key)
      else if (history !== undefined) history.newest = previous
    }
    this.#pending -= versions.length
  }

  /**
   * Adds a stored version, in revision order, while a store opens; keys are in order after `restored`. The value is kept until
   * it is taken or a newer one comes. Throws when one after the compacted revision is missing.
   */
  restore(stored: {
    key: string
    revision: number
    createRevision: number
    value: Buffer | undefined
  }): void {
    const { revision, createRevision, value } = stored
    const history = this.#byKey.get(stored.key)
    const previous = history?.newest
    // A busy key is in memory once.
    const key = previous?.key ?? stored.key
    const version: Version = { key, revision, createRevision, value, previous }
    if (previous !== undefined) previous.value = undefined
    if (history === undefined) this.#byKey.set(key, { newest: version })
    else history.newest = version
    if (stored.revision <= this.#compacted) return
    if (stored.revision !== this.#committed + 1)
      throw new Error(`revision ${this.#committed + 1} is missing`)
    this.#committed = stored.revision
    this.#log.push(version)
  }

  /** Everything that is stored has been restored. */
  restored(): void {
    const histories = new Map<string, KeyHistory>()
    for (const [key, history] of this.#byKey) histories.set(sortKey(key), history)
    const keys = [...histories.keys()].sort()
    const inOrder = keys.map((key) => histories.get(key) as KeyHistory)
    this.#inOrder = SortedMap.ofSorted(compareTexts, keys, inOrder)
  }

  /** Everything that another index held at a revision. Throws `not-empty`. */
  load(kvs: readonly KeyValue[], revision: number): void {
    this.checkEmpty()
    this.#compacted = revision
    this.#committed = revision
    for (const { key, modRevision, createRevision, value } of kvs)
      this.restore({ key, revision: modRevision, createRevision, value })
    this.restored()
  }

  /** Throws `not-empty` when anything was ever written. */
  checkEmpty(): void {
    if (this.#committed === 0 && this.#pending === 0) return
    throw new StoreError('not-empty', `the store is at revision ${this.#committed + this.#pending}`)
  }

  /** Drops history before `revision` and returns the revisions whose bytes are no longer readable. */
  compact(revision: number): readonly number[] {
    if (revision > this.#committed) throw futureRevision(revision, this.#committed)
    if (revision <= this.#compacted) return []
    const dropped = this.#log.splice(0, revision - this.#compacted)
    this.#compacted = revision
    return dropped.flatMap((version) => this.#forget(version))
  }

  #forget(version: Version): number[] {
    const { previous } = version
    version.previous = undefined
    const gone = existing(previous) === undefined ? [] : [(previous as Version).revision]
    if (version.createRevision > 0) return gone
    if (this.newest(version.key) === version) this.#remove(version.key)
    return [...gone, version.revision]
  }

  /** Throws `compacted` or `future-revision` when the state at a revision cannot be read. */
  checkReadable(revision: number): void {
    if (revision < this.#compacted) throw compactedRevision(revision, this.#compacted)
    if (revision > this.#committed) throw futureRevision(revision, this.#committed)
  }

  /** The keys that exist at a revision, in key order. The caller checks the revision; later changes do not show. */
  *scan(options: ScanOptions): Generator<Version> {
    const { atRevision } = options
    const prefix = sortKey(options.prefix)
    const from = sortKey(options.from ?? '')
    const start = from < prefix ? prefix : from
    for (const [key, history] of this.#inOrder.snapshot().entries(start)) {
      if (!key.startsWith(prefix)) return
      const version = versionAt(history.newest, atRevision)
      if (version !== undefined) yield version
    }
  }

  /** At most `limit` commits after a revision, in order. Throws `compacted` when some of them are gone. */
  commitsAfter(revision: number, limit: number): readonly Version[] {
    if (revision < this.#compacted) throw compactedRevision(revision, this.#compacted)
    const start = revision - this.#compacted
    return this.#log.slice(start, start + limit)
  }
}

/** A deletion means that the key does not exist. */
export function existing(version: Version | undefined): Version | undefined {
  return version === undefined || version.createRevision === 0 ? undefined : version
}

function versionAt(newest: Version | undefined, revision: number): Version | undefined {
  let version = newest
  while (version !== undefined && version.revision > revision) version = version.previous
  return existing(version)
}

export function keyValueOf(version: Version, value: Buffer): KeyValue {
  return {
    key: version.key,
    value,
    createRevision: version.createRevision,
    modRevision: version.revision,
  }
}

/** The event of a commit; `value` and `previousValue` are the bytes of the version and of the one before, if any. */
export function eventOf(options: {
  version: Version
  value: Buffer | undefined
  previous: KeyValue | undefined
}): StoreEvent {
  const { version, value, previous } = options
  if (value !== undefined) {
    const kv = keyValueOf(version, value)
    return previous === undefined ? { type: 'put', kv } : { type: 'put', kv, previous }
  }
  if (previous === undefined) throw new Error(`the deletion of ${version.key} deleted nothing`)
  return { type: 'delete', key: version.key, revision: version.revision, previous }
}

export function compactedRevision(revision: number, compacted: number): StoreError {
  return new StoreError(
    'compacted',
    `revision ${revision} has been compacted; the oldest kept revision is ${compacted}`,
  )
}

export function futureRevision(revision: number, committed: number): StoreError {
  return new StoreError(
    'future-revision',
    `revision ${revision} is in the future; the newest is ${committed}`,
  )
}
