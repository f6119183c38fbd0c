/**
 * Store: revisioned bytes by key. The contract every backend fulfils and `test/store/conformance.ts` checks.
 * One counter numbers all commits; a commit is acknowledged only when it is durable (models: etcd, kine pkg/server/types.go).
 */

export interface KeyValue {
  readonly key: string
  readonly value: Buffer
  /** Revision of the commit that created this key (this life of it). */
  readonly createRevision: number
  /** Revision of the commit that wrote this value. */
  readonly modRevision: number
}

/** One commit. `previous` is what the key held before, if anything. */
export type StoreEvent =
  | { readonly type: 'put'; readonly kv: KeyValue; readonly previous?: KeyValue }
  | {
      readonly type: 'delete'
      readonly key: string
      readonly revision: number
      readonly previous: KeyValue
    }

/** Compare and swap of one key. `expectedRevision` 0 means the key must not exist. */
export interface Txn {
  /** A string without lone surrogates, else the txn rejects with a TypeError. */
  readonly key: string
  readonly expectedRevision: number
  /**
   * The new value; null deletes the key. The store owns the buffer from now on: callers must not change it. Deleting a key
   * that does not exist (and is expected not to) is ok and commits nothing.
   */
  readonly value: Buffer | null
  /**
   * The store deletes the key this long after the commit, or up to a minute later; a later txn of the key puts its own time, or
   * none, in its place. A store that is not shared leaves that to an Expiry.
   */
  readonly expiresAfterMs?: number | undefined
}

/** A lost compare is a value, not an exception; `current` is what is there instead (absent: no such key). */
export type TxnResult =
  | { readonly ok: true; readonly revision: number }
  | { readonly ok: false; readonly current?: KeyValue }

export interface RangeOptions {
  readonly prefix: string
  /** Read at exactly this revision; throws `compacted` or `future-revision` when that cannot be. Default: newest. */
  readonly atRevision?: number
  /** Most keys to return; default all. */
  readonly limit?: number
  /** Start at this key (inclusive). */
  readonly from?: string
}

export interface RangeResult {
  /** In key order (bytewise). */
  readonly kvs: readonly KeyValue[]
  /** The revision read at. */
  readonly revision: number
  /** More keys follow within the prefix. */
  readonly more: boolean
}

export interface WatchOptions {
  readonly prefix: string
  readonly fromRevision: number
  readonly signal: AbortSignal
  /** A revision that the store has had: the watch resolves when all commits up to it are handed out. */
  readonly until?: number
}

export interface Store {
  /**
   * True when other servers may use the store, too: what this process has seen may be older than what is stored. It drops old
   * history and deletes expired keys by itself then, once for all servers; for other stores the server runs a Compactor and an
   * Expiry.
   */
  readonly isShared: boolean
  /**
   * Fills a store that holds nothing with what another held at `revision`: the keys, in any order, with their revisions. The next
   * commit is `revision` + 1, and history before it is `compacted`. etcd, which numbers commits itself, gives the keys other
   * revisions, all after `revision`; history before the newest is compacted. Durable when it resolves, and all or nothing; no other
   * call may be made meanwhile. A store in memory shares the values' bytes. Rejects with `not-empty`, and with a TypeError when no
   * store can hold such keys at that revision.
   */
  load(kvs: Iterable<KeyValue> | AsyncIterable<KeyValue>, revision: number): Promise<void>
  get(key: string): Promise<KeyValue | undefined>
  range(options: RangeOptions): Promise<RangeResult>
  /**
   * Commits durably before it resolves. Concurrent commits share one flush and keep their call order; etcd keeps it only for
   * one request at a time (`maxInFlight` of the store on etcd).
   */
  txn(txn: Txn): Promise<TxnResult>
  /** The newest committed revision; a linearizable read in every backend. */
  revision(): Promise<number>
  /**
   * Hands every commit after `fromRevision` to `sink`, in order, without gaps or repeats, in batches. The sink is called
   * synchronously from the commit path, before the commit's own `txn` resolves, and must not throw (one that does ends its
   * watch, which rejects with that error). Nothing is handed out after `signal` aborts, which resolves the promise. Rejects
   * with StoreError `compacted` when `fromRevision` is older than what is kept, or the history is compacted away before the
   * watch has caught up; with `closed` when the store closes; with `unavailable` when it can never commit again. A future `fromRevision` waits for the commits after it.
   */
  watch(options: WatchOptions, sink: (events: readonly StoreEvent[]) => void): Promise<void>
  /**
   * Drops history before `revision`: the state at it and all commits after it stay readable, older reads and watches fail
   * with `compacted`. An older revision than the last one does nothing; a future one rejects with `future-revision`.
   */
  compact(revision: number): Promise<void>
  /**
   * Reads back a part of what is stored, another one each time. Rejects with `damaged` when it is not what was written, with
   * `unavailable` when it cannot be read. Resolves with why values are refused for want of space, undefined when they are not.
   */
  check(): Promise<StoreError | undefined>
  /** What the storage takes on the disk, in bytes; undefined for a store in memory. */
  sizeBytes(): Promise<number | undefined>
  /** Gives back memory that is kept for later; for when there is nothing to do. */
  releaseMemory(): Promise<void>
  /** Finishes what is queued, then releases files and threads. Later calls of anything else reject with `closed`. Idempotent. */
  close(): Promise<void>
}

export type StoreErrorCode =
  | 'compacted'
  | 'future-revision'
  /** The disk fails or the writer has died; nothing was committed; reads go on and writes may work later. */
  | 'unavailable'
  /** The quota is used up or the disk is full: values are refused until there is room, deletions are committed if they can be. */
  | 'no-space'
  /** The stored data is not the data that was written: the store commits nothing any more. */
  | 'damaged'
  /** The store cannot be opened: another process holds it, it is corrupt, or its schema is newer. */
  | 'cannot-open'
  /** Only an empty store is filled with what another held. */
  | 'not-empty'
  | 'closed'

/** The message may name files of the server, so it is for the log and the operator. Clients see `reason`. */
export class StoreError extends Error {
  readonly code: StoreErrorCode
  /** What went wrong, without the names of files; default: the message. */
  readonly reason: string
  constructor(
    code: StoreErrorCode,
    message: string,
    more: { readonly reason?: string; readonly cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'StoreError'
    this.code = code
    this.reason = more.reason ?? message
  }
}

/** Whether the store refuses to write, be it for now or for good, and goes on to read. */
export function isRefusal(error: unknown): error is StoreError {
  if (!(error instanceof StoreError)) return false
  const { code } = error
  return code === 'unavailable' || code === 'no-space' || code === 'damaged'
}
