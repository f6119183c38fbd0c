/**
 * EtcdStore: a store on etcd v3, 3.4 or newer. Revisions are etcd's own, so that whatever else writes to the same etcd moves
 * them, too; a store that was filled with what another held adds a number to them (etcd-load.ts).
 */
import type { Clock } from '../../component-base/clock.ts'
import { GrpcError } from '../../component-base/grpc/grpc-error.ts'
import { silentLog, type Log } from '../../component-base/log.ts'
import { shiftedStore } from '../shifted-store.ts'
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
} from '../store.ts'
import { EtcdClient, type EtcdUser } from './etcd-client.ts'
import { etcdEndpoint, type EtcdEndpoint, type EtcdTls } from './etcd-endpoint.ts'
import { EtcdUnreachableError, noSpace, storeFailure } from './etcd-failures.ts'
import { EtcdKeys } from './etcd-keys.ts'
import { fillEtcd, fillStateOf } from './etcd-load.ts'
import {
  alarmQuery,
  etcdMethod,
  readAlarms,
  readStatus,
  writeCompact,
  type Alarms,
} from './etcd-messages.ts'
import { compactedBefore, EtcdRequests, futureRevision, isOutOfRange } from './etcd-requests.ts'
import { compactByTurns } from './etcd-compaction.ts'
import { EtcdLeases, isLeaseGone } from './etcd-leases.ts'
import type { EtcdMetrics } from './etcd-metrics.ts'
import { commitTxn, type Committed } from './etcd-txn.ts'
import { EtcdWatches } from './etcd-watches.ts'
import { RequestSlots } from './request-slots.ts'

export interface EtcdStoreOptions {
  /** `http://HOST:PORT` or `https://HOST:PORT`; at least one. */
  readonly endpoints: readonly string[]
  /** Asked for each request: what has taken the place of `endpoints`, if anything; the same list until it changes. */
  readonly newEndpoints?: (() => readonly string[] | undefined) | undefined
  /** All keys lie below it, as with upstream's `--etcd-prefix`. */
  readonly prefix: string
  /** What all keys of the store begin with; the prefix stands in its place. Default: nothing. */
  readonly root?: string
  /** Asked for each connection. */
  readonly tls?: (() => EtcdTls) | undefined
  readonly user?: EtcdUser | undefined
  readonly clock: Clock
  readonly log?: Log
  /** How long a request may take, with its attempts on all endpoints; default 10 s. */
  readonly requestTimeoutMs?: number
  /** How long to wait for etcd at the start; default 20 s, upstream's. */
  readonly openTimeoutMs?: number
  /**
   * Requests that etcd works on at once; default 256. etcd decides in which order, so that only with 1 do concurrent
   * commits keep their call order.
   */
  readonly maxInFlight?: number
  /** History is kept for one to two of these; 0: another drops it. Default 0. */
  readonly compactionIntervalMs?: number
  /** How long a lease is used for new keys; default 60 s, upstream's. */
  readonly leaseReuseMs?: number
  readonly metrics?: EtcdMetrics | undefined
  /** The largest answer of etcd; default 256 MiB. */
  readonly mostAnswerBytes?: number
}

/** History goes in steps of so many revisions: after one large step etcd 3.4 stays slow. */
const compactStep = 5000
/** How often a store that opens looks for etcd. */
const openEveryMs = 250

/** Rejects with StoreError `cannot-open`. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const { clock, log = silentLog, user, requestTimeoutMs = 10_000, mostAnswerBytes } = options
  const [first, ...rest] = options.endpoints
  if (first === undefined) throw new StoreError('cannot-open', 'the store on etcd needs an address')
  const endpoints = endpointsOf([first, ...rest], options)
  const client = new EtcdClient({ endpoints, user, clock, requestTimeoutMs, mostAnswerBytes })
  const keys = new EtcdKeys(options.prefix, options.root)
  const requests = new EtcdRequests(client, keys)
  try {
    await waitForEtcd(client, options)
    const revision = await requests.revision()
    const { isBeingFilled, shift } = await fillStateOf({ requests, keys })
    if (isBeingFilled) {
      throw new StoreError(
        'cannot-open',
        `a saved cluster was loaded below ${options.prefix} only in part: delete these keys, or choose another prefix`,
      )
    }
    const { leaseReuseMs = 60_000, metrics } = options
    const { keyCounts, bookmarks } = metrics ?? {}
    const watches = new EtcdWatches({ client, keys, clock, log, revision, bookmarks })
    const leases = new EtcdLeases({ client, clock, reuseMs: leaseReuseMs, keyCounts })
    const parts = { options, client, keys, requests, watches, leases }
    const store = new EtcdStore(parts, shift)
    return shiftedStore(store, {
      shift: () => store.shift,
      load: (kvs, atLeast) => store.load(kvs, atLeast),
    })
  } catch (error) {
    client.close()
    throw cannotOpen(error)
  }
}

/** Those in use now; parsed again only when they are others. */
function endpointsOf(
  given: readonly string[],
  { newEndpoints, tls }: EtcdStoreOptions,
): () => readonly EtcdEndpoint[] {
  const parsed = (urls: readonly string[]) => urls.map((url) => etcdEndpoint(url, tls))
  let last = { urls: given, endpoints: parsed(given) }
  return () => {
    const urls = newEndpoints?.() ?? given
    if (urls !== last.urls) last = { urls, endpoints: parsed(urls) }
    return last.endpoints
  }
}

function cannotOpen(error: unknown): unknown {
  if (error instanceof GrpcError) {
    const hint = 'check the user and its role, or pass a user'
    return new StoreError('cannot-open', `etcd refuses to be read: ${error.message}: ${hint}`, {
      cause: error,
    })
  }
  if (error instanceof EtcdUnreachableError) {
    return new StoreError('cannot-open', `etcd cannot be used: ${error.message}`, { cause: error })
  }
  return error
}

/** Resolves when one endpoint can be used. What waiting does not change rejects at once. */
async function waitForEtcd(client: EtcdClient, options: EtcdStoreOptions): Promise<void> {
  const { clock, openTimeoutMs = 20_000 } = options
  const endMs = clock.elapsed() + openTimeoutMs
  for (;;) {
    try {
      await client.connection()
      return
    } catch (error) {
      const failures = error instanceof EtcdUnreachableError ? error.failures : []
      if (failures.every(({ isLasting }) => isLasting) || clock.elapsed() >= endMs) throw error
      await clock.sleep(openEveryMs)
    }
  }
}

interface Parts {
  readonly options: EtcdStoreOptions
  readonly client: EtcdClient
  readonly keys: EtcdKeys
  readonly requests: EtcdRequests
  readonly watches: EtcdWatches
  readonly leases: EtcdLeases
}

class EtcdStore {
  readonly isShared = true
  /** What the revisions of the store are more than etcd's; all methods but `load` take and give etcd's. */
  shift: number
  readonly #parts: Parts
  readonly #slots: RequestSlots
  readonly #stop = new AbortController()
  readonly #running: Promise<unknown>
  readonly #underWay = new Set<Promise<unknown>>()
  /** The newest commit of this process that is acknowledged. */
  #newest = 0
  #compacted = 0
  #closing: Promise<void> | undefined

  constructor(parts: Parts, shift: number) {
    this.#parts = parts
    this.shift = shift
    this.#slots = new RequestSlots(parts.options.maxInFlight ?? 256)
    const { requests, watches, options } = parts
    const { clock, log = silentLog, compactionIntervalMs: intervalMs = 0 } = options
    const compact = (revision: number): Promise<void> => this.compact(revision)
    const compaction = { requests, clock, log, intervalMs, compact }
    this.#running = Promise.all([
      watches.run(),
      ...(intervalMs > 0 ? [compactByTurns(compaction, this.#stop.signal)] : []),
    ])
  }

  async load(kvs: Iterable<KeyValue> | AsyncIterable<KeyValue>, revision: number): Promise<void> {
    const { keys, requests } = this.#parts
    const filled = await this.#request(() => fillEtcd({ keys, requests }, kvs, revision))
    await this.#show(undefined, filled.revision)
    await this.compact(filled.revision)
    this.shift = filled.shift
  }

  async get(key: string): Promise<KeyValue | undefined> {
    return await this.#request(() => this.#slots.run(() => this.#parts.requests.get(key)))
  }

  async range(options: RangeOptions): Promise<RangeResult> {
    const { requests } = this.#parts
    return await this.#request(async () => {
      const { atRevision, limit = Infinity } = options
      if (atRevision !== undefined && atRevision < 1) throw compactedBefore(atRevision)
      const kvs: KeyValue[] = []
      let page = await this.#slots.run(() => requests.page({ ...options, limit }))
      const { revision } = page
      for (;;) {
        kvs.push(...page.kvs)
        const last = page.kvs.at(-1)
        if (!page.more || kvs.length >= limit || last === undefined) {
          return { kvs, revision: atRevision ?? revision, more: page.more }
        }
        const rest = {
          prefix: options.prefix,
          from: `${last.key}\0`,
          limit: limit - kvs.length,
          atRevision: atRevision ?? revision,
          pageKeys: page.nextKeys,
        }
        page = await this.#slots.run(() => requests.page(rest))
      }
    })
  }

  async txn(txn: Txn): Promise<TxnResult> {
    return await this.#request(async () => {
      const { result, hasCommitted } = await this.#slots.run(() => this.#commit(txn))
      if (result.ok && hasCommitted) await this.#show(txn.key, result.revision)
      return result
    })
  }

  async #commit(txn: Txn): Promise<Committed> {
    const { requests, options, keys, leases } = this.#parts
    const { clock, requestTimeoutMs: timeoutMs = 10_000 } = options
    const { value, expiresAfterMs } = txn
    const committer = { requests, keys, clock, timeoutMs }
    if (value === null || expiresAfterMs === undefined) return await commitTxn(committer, txn)
    const lease = await leases.leaseFor(expiresAfterMs)
    try {
      return await commitTxn({ ...committer, lease }, txn)
    } catch (error) {
      if (!isLeaseGone(error)) throw error
      leases.forget(lease)
      return await commitTxn({ ...committer, lease: await leases.leaseFor(expiresAfterMs) }, txn)
    }
  }

  async revision(): Promise<number> {
    const { requests, watches } = this.#parts
    return await this.#request(async () => {
      const read = await this.#slots.run(() => requests.revision())
      const revision = watches.mayMiss(read) ? await this.#markProgress() : read
      return await this.#inTime(
        (signal) => watches.newestOf(revision, signal),
        `the watch of etcd has not come to revision ${revision}`,
      )
    })
  }

  /**
   * Commits what the watch will show, for a user who may not watch the rest of etcd: before it comes all that came before. (etcd's
   * own notes of progress may overtake events before 3.4.25 and 3.5.8.)
   */
  async #markProgress(): Promise<number> {
    const { requests, keys } = this.#parts
    const put = { type: 'put', key: keys.progressMark, value: Buffer.alloc(0) } as const
    const mark = { compares: [], success: [put], failure: [] }
    return (await this.#slots.run(() => requests.txn(mark))).revision
  }

  async watch(options: WatchOptions, sink: (events: readonly StoreEvent[]) => void): Promise<void> {
    this.#checkOpen()
    if (options.fromRevision < this.#compacted) throw compactedBefore(options.fromRevision)
    await this.#parts.watches.watch(options, sink)
  }

  async compact(revision: number): Promise<void> {
    await this.#request(async () => {
      if (revision <= this.#compacted) return
      const { requests, client } = this.#parts
      const newest = await requests.revision()
      if (revision > newest) throw futureRevision(revision, newest)
      // Watchers are to see what each commit replaced.
      await this.#show(undefined, Math.min(revision, this.#newest))
      for (let at = await this.#compactedTo(revision); at < revision;) {
        at = Math.min(revision, at + compactStep)
        await client.call(etcdMethod.compact, writeCompact(at), true).catch((error: unknown) => {
          // As far as another has compacted already.
          if (!isOutOfRange(error)) throw error
        })
      }
      this.#compacted = Math.max(this.#compacted, revision)
    })
  }

  /** How far history is compacted already, to a step; at most `revision`. */
  async #compactedTo(revision: number): Promise<number> {
    const { requests } = this.#parts
    if (this.#compacted > 0) return this.#compacted
    let from = 0
    for (let to = revision; to - from > compactStep;) {
      const middle = Math.floor((from + to) / 2)
      if (await requests.isReadable(middle)) to = middle
      else from = middle
    }
    return from
  }

  async check(): Promise<StoreError | undefined> {
    return await this.#request(async () => {
      const alarms = await this.#alarms()
      if (alarms.isCorrupt) throw new StoreError('damaged', 'etcd has raised the alarm CORRUPT')
      return alarms.isOutOfSpace ? noSpace() : undefined
    })
  }

  async sizeBytes(): Promise<number> {
    const { client } = this.#parts
    return await this.#request(
      async () => readStatus(await client.call(etcdMethod.status, Buffer.alloc(0), true)).sizeBytes,
    )
  }

  async releaseMemory(): Promise<void> {
    this.#checkOpen()
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #close(): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled(this.#underWay)
    this.#parts.watches.close()
    this.#parts.client.close()
    await this.#running
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new StoreError('closed', 'the store has been closed')
  }

  /** `close` waits for it. Its errors are a store's. */
  async #request<T>(run: () => Promise<T>): Promise<T> {
    this.#checkOpen()
    const request = run()
    this.#underWay.add(request)
    try {
      return await request
    } catch (error) {
      throw await storeFailure(error, () => this.#alarms())
    } finally {
      this.#underWay.delete(request)
    }
  }

  async #alarms(): Promise<Alarms> {
    return readAlarms(await this.#parts.client.call(etcdMethod.alarm, alarmQuery, true))
  }

  async #show(key: string | undefined, revision: number): Promise<void> {
    this.#newest = Math.max(this.#newest, revision)
    // Nearly always: etcd shows a commit before it answers.
    if (this.#parts.watches.isShown(key, revision)) return
    await this.#inTime(
      (signal) => this.#parts.watches.shown(key, revision, signal),
      `revision ${revision} is committed, and the watch of etcd has not shown it`,
    )
  }

  /** `failure` says what has not come. */
  async #inTime<T>(wait: (signal: AbortSignal) => Promise<T>, failure: string): Promise<T> {
    const { clock, requestTimeoutMs = 10_000 } = this.#parts.options
    const late = new AbortController()
    const stopTimer = clock.after(requestTimeoutMs, () => late.abort())
    try {
      return await wait(late.signal)
    } catch (error) {
      throw new StoreError('unavailable', `${failure} within ${requestTimeoutMs} ms`, {
        reason: 'etcd does not show its changes',
        cause: error,
      })
    } finally {
      stopTimer()
    }
  }
}
