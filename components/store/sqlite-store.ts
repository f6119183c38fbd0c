/**
 * The embedded store: one SQLite file, one writer. The main thread decides every compare in its index and numbers the
 * commits; the writer's thread makes whole batches of them durable while the next batch gathers (group commit).
 */
import { stat } from 'node:fs/promises'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { loadable } from './loadable.ts'
import { isCommit, isReplacedUnknown, takeBatch, type QueuedTxn } from './queued-txn.ts'
import { RecentValues } from './recent-values.ts'
import {
  compactedRevision,
  eventOf,
  existing,
  futureRevision,
  keyValueOf,
  RevisionIndex,
  type Version,
} from './revision-index.ts'
import {
  packValues,
  unpackValues,
  type CallName,
  type Calls,
  type CommitRequest,
} from './sqlite-messages.ts'
import { SqliteThread } from './sqlite-thread.ts'
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
import { takeFrom } from './take-from.ts'
import { WatchHub } from './watch-hub.ts'

/** Two, so that the thread never waits for the main thread. Fewer txns than `minSplitTxns` are not worth two flushes. */
const maxInFlight = 2
const minSplitTxns = 16
/** Bytes of the newest commits kept in memory; mostly they are the very buffers that the API server keeps. */
const recentBytes = 32_000_000
const rangeKeys = 1024
/** Revisions dropped in one flush, which commits may have to wait for. */
const compactRevisions = 500

export interface SqliteStoreOptions {
  readonly path: string
  /**
   * No value makes the file larger (deletions may, by 1 MB; the write-ahead log and the reserve beside it take some MB more):
   * it is refused with `no-space`.
   */
  readonly quotaBytes?: number | undefined
  /** False: commits do not wait for the disk. A crash of the machine, not of the process, may then damage the file. */
  readonly isSynced?: boolean | undefined
  /** Prefixes of keys, each with a slash at its end, that a file of an earlier release has -> today's. */
  readonly renames?: ReadonlyMap<string, string> | undefined
}

/** Opens or creates the file. Rejects with `cannot-open` when another process has it, or when it cannot be read. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, quotaBytes, isSynced = true, renames } = options
  const thread = new SqliteThread()
  try {
    const request = { path, quotaBytes, isSynced, renames }
    const { compactedRevision } = await thread.call('open', request)
    const index = new RevisionIndex({ compactedRevision })
    await load(thread, index)
    return new SqliteStore(path, thread, index)
  } catch (error) {
    await thread.stop()
    if (error instanceof StoreError) throw error
    throw new StoreError('cannot-open', `${path} is damaged: ${String(error)}`, { cause: error })
  }
}

async function load(thread: SqliteThread, index: RevisionIndex): Promise<void> {
  let loading = thread.call('load', { afterRevision: 0 })
  for (;;) {
    const { revisions, createRevisions, keys, values, isEnd } = await loading
    // The thread reads on while this one fills the index.
    if (!isEnd) {
      loading = thread.call('load', { afterRevision: revisions.at(-1) ?? 0 })
      loading.catch(() => {}) // awaited in the next round, unless this one fails
    }
    const unpacked = unpackValues(values)
    for (const [i, key] of keys.entries())
      index.restore({
        key,
        revision: revisions[i] ?? 0,
        createRevision: createRevisions[i] ?? 0,
        value: unpacked[i],
      })
    if (isEnd) break
  }
  index.restored()
}

class SqliteStore implements Store {
  readonly isShared = false
  readonly #path: string
  readonly #thread: SqliteThread
  readonly #index: RevisionIndex
  readonly #hub: WatchHub
  readonly #recent = new RecentValues(recentBytes)
  /** Values up to here were in memory when the store was opened or filled; who reads them takes them. */
  #restoredRevision: number
  #queue: QueuedTxn[] = []
  /** Batches that the thread has, oldest first. */
  #inFlight: (readonly QueuedTxn[])[] = []
  #drained: (() => void) | undefined
  #compacting: Promise<void> = Promise.resolve()
  /** Dropped from the index but, as far as known, not yet from the file. */
  #dropped: number[] = []
  /** Why values are refused until there is room. */
  #full: StoreError | undefined
  #askingForRoom: Promise<boolean> | undefined
  /** Why nothing is committed any more. */
  #damage: StoreError | undefined
  #closing: Promise<void> | undefined

  constructor(path: string, thread: SqliteThread, index: RevisionIndex) {
    this.#path = path
    this.#thread = thread
    this.#index = index
    this.#restoredRevision = index.committed
    this.#hub = new WatchHub({ index, eventsOf: async (versions) => this.#eventsOf(versions) })
    // Nothing will be written any more: who follows the store has to know.
    void thread.died.then((error) => this.#hub.close(error))
  }

  async load(kvs: Iterable<KeyValue> | AsyncIterable<KeyValue>, revision: number): Promise<void> {
    this.#checkOpen()
    this.#index.checkEmpty()
    const all = await loadable(kvs, revision)
    const inOrder = all.toSorted((a, b) => a.modRevision - b.modRevision)
    const values = packValues(inOrder.map(({ value }) => value))
    const request: Calls['fill']['request'] = {
      revision,
      keys: inOrder.map(({ key }) => key),
      revisions: inOrder.map(({ modRevision }) => modRevision),
      createRevisions: inOrder.map(({ createRevision }) => createRevision),
      values,
    }
    await this.#call('fill', request, [values.bytes])
    this.#index.load(all, revision)
    this.#restoredRevision = revision
  }

  async get(key: string): Promise<KeyValue | undefined> {
    this.#checkOpen()
    const version = this.#index.at(key, this.#index.committed)
    return version && this.#keyValue(version)
  }

  async range(options: RangeOptions): Promise<RangeResult> {
    this.#checkOpen()
    for (;;) {
      const revision = options.atRevision ?? this.#index.committed
      try {
        return await this.#rangeAt(revision, options)
      } catch (error) {
        // A compaction overtook a read of the newest revision: retry at the revision that is newest now.
        const isOvertaken = error instanceof StoreError && error.code === 'compacted'
        if (!isOvertaken || options.atRevision !== undefined) throw error
      }
    }
  }

  async txn(txn: Txn): Promise<TxnResult> {
    this.#checkOpen()
    if (this.#damage !== undefined) throw this.#damage
    if (this.#full !== undefined && txn.value !== null) await this.#waitForRoom()
    return await this.#decide(txn)
  }

  #decide(request: Txn): Promise<TxnResult> {
    const { key, expectedRevision, value } = request
    const newest = this.#index.newest(key)
    const current = existing(newest)
    if ((current?.revision ?? 0) !== expectedRevision) return this.#lose(newest, request)
    if (current === undefined && value === null) {
      const result = (): TxnResult => ({ ok: true, revision: this.#index.committed })
      return this.#enqueue({ request, result })
    }
    const version = this.#index.append(key, value)
    const result: TxnResult = { ok: true, revision: version.revision }
    const replaced = current?.value
    return this.#enqueue({ request, version, replaced, result: () => result })
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
    if (revision > this.#index.committed) throw futureRevision(revision, this.#index.committed)
    const earlier = this.#compacting
    const compacting = (async () => {
      await earlier
      await this.#compactTo(revision)
    })()
    this.#compacting = compacting.catch(() => {
      // The caller gets the error; the next compaction removes the rest.
    })
    return compacting
  }

  async check(): Promise<StoreError | undefined> {
    this.#checkOpen()
    if (this.#damage !== undefined) throw this.#damage
    await this.#call('check', undefined)
    if (this.#full !== undefined) await this.#hasRoom()
    return this.#full
  }

  async sizeBytes(): Promise<number> {
    this.#checkOpen()
    return (await stat(this.#path)).size
  }

  async releaseMemory(): Promise<void> {
    this.#checkOpen()
    this.#recent.clear()
    await this.#thread.call('releaseMemory', undefined)
  }

  async close(): Promise<void> {
    this.#closing ??= (async () => {
      if (this.#queue.length + this.#inFlight.length > 0)
        await new Promise<void>((resolve) => (this.#drained = resolve))
      await this.#compacting
      this.#hub.close()
      await this.#thread.stop()
    })()
    return this.#closing
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new StoreError('closed', 'the store has been closed')
  }

  /** The compare is lost to `newest`. If that is still pending, no reader may see it before it is durable. */
  async #lose(newest: Version | undefined, request: Txn): Promise<TxnResult> {
    const version = existing(newest)
    if (newest === undefined || this.#index.isCommitted(newest))
      return version === undefined
        ? { ok: false }
        : { ok: false, current: await this.#keyValue(version) }
    const result: TxnResult =
      version?.value === undefined
        ? { ok: false }
        : { ok: false, current: keyValueOf(version, version.value) }
    return this.#enqueue({ request, result: () => result })
  }

  #enqueue(txn: Omit<QueuedTxn, 'resolve' | 'reject'>): Promise<TxnResult> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...txn, resolve, reject })
      if (this.#queue.length === 1) void this.#flushSoon()
    })
  }

  /** Not at once: what else this turn of the loop reads from its sockets may add more txns, and they shall share the flush. */
  async #flushSoon(): Promise<void> {
    await endOfTurn()
    this.#flush()
  }

  /** Keeps the thread busy with one batch while the main thread settles the one before and gathers the next. */
  #flush(): void {
    while (this.#queue.length > 0 && this.#inFlight.length < maxInFlight) {
      const isIdle = this.#inFlight.length === 0
      const half = isIdle && this.#queue.length >= minSplitTxns ? this.#queue.length >> 1 : Infinity
      const batch = takeBatch(this.#queue, half)
      this.#inFlight.push(batch)
      void this.#commit(batch)
    }
  }

  async #commit(batch: readonly QueuedTxn[]): Promise<void> {
    const outcome = await this.#write(batch).then(
      (replaced) => ({ replaced }),
      (error: unknown) => ({ error }),
    )
    // Once a batch has failed, those behind it have failed with it, whatever the thread says of them.
    if (this.#inFlight[0] !== batch) return
    if ('error' in outcome) this.#fail(outcome.error)
    else this.#settle(batch, outcome.replaced)
    this.#flush()
    if (this.#inFlight.length === 0) this.#drained?.()
  }

  /** Makes a batch durable; answers the replaced values that are not in memory, in order. */
  async #write(batch: readonly QueuedTxn[]): Promise<(Buffer | undefined)[]> {
    const commits = batch.filter(isCommit)
    const versions = commits.map(({ version }) => version)
    const values = packValues(versions.map(({ value }) => value))
    const request: CommitRequest = {
      firstRevision: versions[0]?.revision ?? 0,
      keys: versions.map(({ key }) => key),
      createRevisions: versions.map(({ createRevision }) => createRevision),
      values,
      replaced: commits.filter(isReplacedUnknown).map(({ version }) => version.previous!.revision),
    }
    return unpackValues(await this.#thread.call('commit', request, [values.bytes]))
  }

  #settle(batch: readonly QueuedTxn[], readValues: readonly (Buffer | undefined)[]): void {
    this.#inFlight.shift()
    const events: StoreEvent[] = []
    let read = 0
    for (const txn of batch) {
      if (!isCommit(txn)) continue
      const { version } = txn
      const before = existing(version.previous)
      const bytes = isReplacedUnknown(txn) ? readValues[read++] : txn.replaced
      const previous = before && bytes && keyValueOf(before, bytes)
      events.push(eventOf({ version, value: version.value, previous }))
      this.#index.commit(version)
      this.#recent.add(version)
    }
    this.#hub.publish(events)
    for (const txn of batch) txn.resolve(txn.result())
    // A deleted value takes its room until its history is dropped.
    if (this.#full !== undefined && events.length > 0) this.#dropHistory()
  }

  /**
   * The oldest batch is not durable, and everything behind it was numbered after it. When there was no room, deletions are
   * decided again without the values that took it.
   */
  #fail(cause: unknown): void {
    const failed = [...this.#inFlight.flat(), ...this.#queue]
    this.#inFlight = []
    this.#queue = []
    this.#index.rollback(failed.filter(isCommit).map(({ version }) => version))
    const error = this.#noted(cause)
    const hadValues = failed.some(({ request }) => request.value !== null)
    if (error.code === 'no-space') {
      this.#full = error
      this.#dropHistory()
    }
    for (const { request, resolve, reject } of failed) {
      const canRetry = error.code === 'no-space' && hadValues && request.value === null
      if (canRetry) this.#decide(request).then(resolve, reject)
      else reject(error)
    }
  }

  /** As an error of the store; what says that the file is damaged ends all commits. */
  #noted(cause: unknown): StoreError {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const error =
      cause instanceof StoreError
        ? cause
        : new StoreError('unavailable', String(cause), { reason, cause })
    if (error.code === 'damaged') this.#damage ??= error
    return error
  }

  async #call<Name extends CallName>(
    name: Name,
    request: Calls[Name]['request'],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Calls[Name]['answer']> {
    try {
      return await this.#thread.call(name, request, transfer)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  async #waitForRoom(): Promise<void> {
    if (await this.#hasRoom()) return
    throw this.#full ?? new StoreError('no-space', 'the store is full')
  }

  /** Asks once for all who wait. */
  async #hasRoom(): Promise<boolean> {
    this.#askingForRoom ??= this.#call('room', undefined).finally(
      () => (this.#askingForRoom = undefined),
    )
    const hasRoom = await this.#askingForRoom
    if (hasRoom) this.#full = undefined
    return hasRoom
  }

  /** A full store keeps no history: dropping it makes room without a deletion. */
  #dropHistory(): void {
    this.compact(this.#index.committed).catch(() => {
      // The rest is dropped with the next deletion, or in time.
    })
  }

  async #rangeAt(revision: number, options: RangeOptions): Promise<RangeResult> {
    this.#index.checkReadable(revision)
    const { limit = Infinity } = options
    const kvs: KeyValue[] = []
    const scan = this.#index.scan({ ...options, atRevision: revision })
    const readPage = (room: number) => {
      const page = takeFrom(scan, Math.min(rangeKeys, room))
      return { page, reading: page.length === 0 ? undefined : this.#readValues(page) }
    }
    let { page, reading } = readPage(limit)
    while (reading !== undefined) {
      const values = await reading
      this.#index.checkReadable(revision)
      // The thread reads on while this one works.
      const next = readPage(limit - kvs.length - page.length)
      for (const [i, version] of page.entries()) {
        kvs.push(keyValueOf(version, values[i] as Buffer))
        if (version.revision <= this.#restoredRevision) version.value = undefined
      }
      ;({ page, reading } = next)
    }
    return { kvs, revision, more: scan.next().done !== true }
  }

  async #keyValue(version: Version): Promise<KeyValue> {
    if (version.value !== undefined) return keyValueOf(version, version.value)
    const [value] = await this.#readValues([version])
    return keyValueOf(version, value as Buffer)
  }

  async #eventsOf(versions: readonly Version[]): Promise<readonly StoreEvent[]> {
    const steps = versions.map((version) => ({ version, before: existing(version.previous) }))
    const wanted = steps.flatMap(({ version, before }) => [version, before])
    const readable = wanted.filter((version) => existing(version) !== undefined) as Version[]
    const values = (await this.#readValues(readable)).values()
    return steps.map(({ version, before }) => {
      const value = existing(version) && values.next().value
      const previous = before && keyValueOf(before, values.next().value as Buffer)
      return eventOf({ version, value, previous })
    })
  }

  /**
   * The values of versions that are no deletions. Asks the thread even when all are in memory, so that a caller's long
   * loop lets others have a turn. Rejects with `compacted`.
   */
  async #readValues(versions: readonly Version[]): Promise<Buffer[]> {
    const values = versions.map(({ value }) => value)
    let missing = [...versions.keys()].filter((i) => values[i] === undefined)
    do {
      const revisions = missing.map((i) => (versions[i] as Version).revision)
      const read = unpackValues(await this.#call('read', { revisions }))
      for (const [j, value] of read.entries()) {
        if (value === undefined)
          throw compactedRevision(revisions[j] as number, this.#index.compacted)
        values[missing[j] as number] = value
      }
      missing = missing.slice(read.length)
    } while (missing.length > 0)
    return values as Buffer[]
  }

  async #compactTo(revision: number): Promise<void> {
    while (this.#index.compacted < revision || this.#dropped.length > 0) {
      const step = Math.min(revision, this.#index.compacted + compactRevisions)
      this.#dropped.push(...this.#index.compact(step))
      const dropped = this.#dropped
      await this.#call('compact', { revision: this.#index.compacted, dropped })
      this.#dropped = []
    }
  }
}
