/**
 * EtcdWatches: hands out what etcd's watches show, to any number of sinks, over one stream. One watch follows the newest
 * commits for all sinks; a sink that starts earlier has a watch of its own until that one has caught up.
 */
import { createBackoff } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { GrpcStream } from '../../component-base/grpc/grpc-call.ts'
import type { Log } from '../../component-base/log.ts'
import type { Gauge } from '../../component-base/metrics.ts'
import { StoreError, type StoreEvent, type WatchOptions } from '../store.ts'
import type { EtcdClient } from './etcd-client.ts'
import type { EtcdKeys } from './etcd-keys.ts'
import {
  etcdMethod,
  readWatch,
  writeWatchCancel,
  writeWatchCreate,
  type EtcdEvent,
  type WatchResponse,
} from './etcd-messages.ts'

/** The watch that follows the newest commits. */
const mainId = 1
const allKeys = { key: Buffer.from([0]), end: Buffer.from([0]) }

interface Watcher {
  readonly prefix: string
  /** Events up to here are handed out, or not wanted. */
  seen: number
  readonly sink: (events: readonly StoreEvent[]) => void
  readonly end: (error?: unknown) => void
}

/** A watcher whose events come from a watch of its own. */
interface CatchUp {
  readonly watcher: Watcher
  /** The newest commit at the start; the main watch adds what follows it to `later`. */
  readonly from: number
  later: StoreEvent[]
}

interface Waiting {
  readonly isMet: () => boolean
  readonly resolve: () => void
}

export interface EtcdWatchesOptions {
  readonly client: EtcdClient
  readonly keys: EtcdKeys
  readonly clock: Clock
  readonly log: Log
  /** Commits after this one are watched. */
  readonly revision: number
  /** Counts etcd's notes of how far the main watch has come. */
  readonly bookmarks?: Gauge | undefined
}

export class EtcdWatches {
  readonly #options: EtcdWatchesOptions
  readonly #stop = new AbortController()
  readonly #live = new Set<Watcher>()
  readonly #catchingUp = new Map<number, CatchUp>()
  #waiting: Waiting[] = []
  /** The main watch has shown everything up to here. */
  #position: number
  /** The newest commit of this store, or the revision at the start. */
  #newest: number
  /** The user may not watch all keys of etcd: other clients' revisions are not seen. */
  #isNarrow = false
  /** etcd has made the main watch on this stream. */
  #isFollowing = false
  #nextId = mainId + 1
  #stream: GrpcStream | undefined
  /** Of a response that is still coming, by watch. */
  readonly #fragments = new Map<number, EtcdEvent[]>()

  constructor(options: EtcdWatchesOptions) {
    this.#options = options
    this.#position = options.revision
    this.#newest = options.revision
  }

  /** See Store.watch. */
  async watch(options: WatchOptions, sink: (events: readonly StoreEvent[]) => void): Promise<void> {
    const { prefix, fromRevision, signal, until } = options
    if (signal.aborted) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const over = new AbortController()
    const end = (error?: unknown): void => {
      over.abort()
      signal.removeEventListener('abort', onAbort)
      this.#remove(watcher)
      if (error === undefined) resolve()
      else reject(error)
    }
    const onAbort = (): void => end()
    const watcher: Watcher = { prefix, seen: fromRevision, sink, end }
    signal.addEventListener('abort', onAbort)
    if (fromRevision >= this.#newest) this.#live.add(watcher)
    else this.#catchUp(watcher)
    if (until !== undefined) {
      const hasAll = (): boolean =>
        this.#live.has(watcher) && (this.#isNarrow || this.#position >= until)
      this.#wait(hasAll, over.signal).then(
        () => end(),
        () => {},
      )
    }
    return promise
  }

  /** Resolves when `isShown`. */
  async shown(key: string | undefined, revision: number, signal: AbortSignal): Promise<void> {
    await this.#wait(() => this.isShown(key, revision), signal)
  }

  /** The store's newest commit, of those up to `revision`: other clients of this etcd may have made the later ones. */
  async newestOf(revision: number, signal: AbortSignal): Promise<number> {
    await this.#wait(() => this.#position >= revision, signal)
    return Math.min(revision, this.#newest)
  }

  /** Whether other clients of this etcd may have made the commits up to `revision`, whom its user may not watch. */
  mayMiss(revision: number): boolean {
    return this.#isNarrow && this.#position < revision
  }

  async #wait(isMet: () => boolean, signal: AbortSignal): Promise<void> {
    if (isMet()) return
    await new Promise<void>((resolve, reject) => {
      const waiting = {
        isMet,
        resolve: () => {
          signal.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting)
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(waiting)
    })
  }

  /** Follows etcd, with a new stream after each that is lost, until `close`. */
  async run(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#stop
    const backoff = createBackoff({ initialMs: 20, maxMs: 1000 }, () => clock.random())
    while (!signal.aborted) {
      try {
        await this.#follow(() => backoff.reset())
      } catch (error) {
        if (signal.aborted) return
        log.info('the watch of etcd was lost and begins again', { error })
      }
      await clock.sleep(backoff.next(), signal).catch(() => {})
    }
  }

  /** Ends every watch with `closed`. */
  close(): void {
    this.#stop.abort()
    this.#endAll(new StoreError('closed', 'the store has been closed'))
  }

  async #follow(onAnswer: () => void): Promise<void> {
    const { client } = this.#options
    const connection = await client.connection()
    const { signal } = this.#stop
    this.#fragments.clear()
    const stream = connection.grpc.stream(etcdMethod.watch, {
      // A member that has lost its leader ends the stream.
      metadata: { ...connection.metadata, hasleader: 'true' },
      signal,
      onMessage: (message) => {
        this.#receive(readWatch(message))
        onAnswer()
      },
    })
    this.#stream = stream
    this.#isFollowing = false
    this.#create(mainId, this.#position + 1)
    for (const [id, { watcher }] of this.#catchingUp) this.#create(id, watcher.seen)
    try {
      await stream.ended
    } finally {
      this.#stream = undefined
      client.leave(connection)
    }
  }

  #create(watchId: number, startRevision: number): void {
    // All keys for the main watch: every revision of etcd shows then, and how far it has come.
    const range = watchId === mainId && !this.#isNarrow ? allKeys : this.#options.keys.range('')
    const create = { ...range, watchId, startRevision }
    void this.#stream?.send(writeWatchCreate(create))
  }

  #catchUp(watcher: Watcher): void {
    const id = this.#nextId
    this.#nextId += 1
    this.#catchingUp.set(id, { watcher, from: this.#newest, later: [] })
    // From its own revision on, so that etcd says when that has been compacted away.
    this.#create(id, Math.max(1, watcher.seen))
  }

  #remove(watcher: Watcher): void {
    this.#live.delete(watcher)
    for (const [id, one] of this.#catchingUp) {
      if (one.watcher === watcher) this.#endCatchUp(id)
    }
    this.#resolveWaiting()
  }

  #endCatchUp(id: number): void {
    this.#catchingUp.delete(id)
    this.#fragments.delete(id)
    void this.#stream?.send(writeWatchCancel(id))
  }

  #receive(response: WatchResponse): void {
    const { watchId, isCanceled, isCreated, isFragment } = response
    if (isCreated && isCanceled) {
      this.#refused(response)
      return
    }
    if (watchId !== mainId && !this.#catchingUp.has(watchId)) return
    if (isCanceled) {
      this.#canceled(response)
      return
    }
    if (isCreated) {
      if (watchId === mainId) this.#isFollowing = true
      return
    }
    const events = [...(this.#fragments.get(watchId) ?? []), ...response.events]
    if (isFragment) {
      this.#fragments.set(watchId, events)
      return
    }
    this.#fragments.delete(watchId)
    if (events.length === 0) this.#options.bookmarks?.inc()
    const position = events.at(-1)?.kv.modRevision ?? response.revision
    if (watchId === mainId) this.#advance(events, position)
    else this.#advanceOne(watchId, events, position)
    this.#resolveWaiting()
  }

  /** The main watch comes first on each stream. Releases of etcd differ in the number that a refusal has. */
  #refused({ cancelReason }: WatchResponse): void {
    if (this.#isFollowing || this.#isNarrow)
      throw new Error(`etcd refused a watch: ${cancelReason}`)
    this.#isNarrow = true
    this.#create(mainId, this.#position + 1)
  }

  #canceled({ watchId, compactRevision, cancelReason }: WatchResponse): void {
    if (compactRevision === 0) throw new Error(`etcd ended a watch: ${cancelReason}`)
    const error = compacted(compactRevision)
    if (watchId !== mainId) {
      this.#catchingUp.get(watchId)?.watcher.end(error)
      return
    }
    // What came between is gone: all must read anew.
    this.#endAll(error)
    this.#position = compactRevision - 1
    this.#newest = Math.max(this.#newest, this.#position)
    this.#create(mainId, compactRevision)
  }

  /** Undefined when etcd has compacted away what one of the keys held before. */
  #storeEvents(events: readonly EtcdEvent[]): readonly StoreEvent[] | undefined {
    const known: StoreEvent[] = []
    const { keys } = this.#options
    for (const { isDelete, kv, previous: before } of events) {
      const previous = before && keys.keyValue(before)
      const revision = kv.modRevision
      if (isDelete) {
        if (previous === undefined) return undefined
        known.push({ type: 'delete', key: keys.ofStore(kv.key), revision, previous })
      } else if (previous !== undefined) {
        known.push({ type: 'put', kv: keys.keyValue(kv), previous })
      } else {
        if (kv.createRevision !== revision) return undefined
        known.push({ type: 'put', kv: keys.keyValue(kv) })
      }
    }
    return known
  }

  #advance(all: readonly EtcdEvent[], position: number): void {
    const { keys } = this.#options
    const own = all.filter(({ kv }) => keys.isOwn(kv.key))
    this.#position = Math.max(this.#position, position)
    this.#newest = Math.max(this.#newest, own.at(-1)?.kv.modRevision ?? 0)
    const events = this.#storeEvents(own.filter(({ kv }) => !kv.key.equals(keys.fillMark)))
    if (events === undefined) {
      this.#endAll(compacted(position))
      return
    }
    if (events.length === 0) return
    for (const watcher of this.#live) deliver(watcher, events)
    for (const one of this.#catchingUp.values()) one.later.push(...events)
  }

  /** Of a watcher's own watch. When that has come to what the main watch shows, the main watch goes on with it. */
  #advanceOne(id: number, all: readonly EtcdEvent[], position: number): void {
    const one = this.#catchingUp.get(id)
    if (one === undefined) return
    const { watcher, from, later } = one
    // Of the first revision, what was there before may be compacted away.
    const { keys } = this.#options
    const events = this.#storeEvents(
      all.filter(({ kv }) => kv.modRevision > watcher.seen && keys.isOwn(kv.key)),
    )
    if (events === undefined) {
      watcher.end(compacted(position))
      return
    }
    deliver(watcher, events)
    watcher.seen = Math.max(watcher.seen, position)
    if (position < from || !this.#catchingUp.has(id)) return
    this.#endCatchUp(id)
    this.#live.add(watcher)
    deliver(watcher, later)
  }

  /** Whether the watchers of `key`, or of any, have got the commit of `revision`, or there are none. */
  isShown(key: string | undefined, revision: number): boolean {
    const isDue = ({ prefix, seen }: Watcher): boolean =>
      seen < revision && (key === undefined || key.startsWith(prefix))
    for (const { watcher } of this.#catchingUp.values()) if (isDue(watcher)) return false
    if (this.#position >= revision) return true
    for (const watcher of this.#live) if (isDue(watcher)) return false
    return true
  }

  #resolveWaiting(): void {
    if (this.#waiting.length === 0) return
    const met = new Set(this.#waiting.filter((one) => one.isMet()))
    if (met.size === 0) return
    this.#waiting = this.#waiting.filter((one) => !met.has(one))
    for (const { resolve } of met) resolve()
  }

  #endAll(error: StoreError): void {
    for (const watcher of this.#live) watcher.end(error)
    for (const { watcher } of this.#catchingUp.values()) watcher.end(error)
  }
}

function revisionOf(event: StoreEvent): number {
  return event.type === 'put' ? event.kv.modRevision : event.revision
}

function keyOf(event: StoreEvent): string {
  return event.type === 'put' ? event.kv.key : event.key
}

function deliver(watcher: Watcher, events: readonly StoreEvent[]): void {
  const { prefix, seen, sink, end } = watcher
  const wanted = events.filter((one) => revisionOf(one) > seen && keyOf(one).startsWith(prefix))
  if (wanted.length === 0) return
  try {
    sink(wanted)
  } catch (error) {
    // A sink that throws ends its own watch and disturbs no other.
    end(error)
  }
}

function compacted(revision: number): StoreError {
  return new StoreError('compacted', `history before revision ${revision} is compacted away`)
}
