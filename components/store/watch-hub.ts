/**
 * WatchHub: hands every commit of an index to its watchers, in order, without gaps or repeats. A watcher replays history
 * until it has caught up and turns live in the same turn, so nothing can commit in between.
 */
import type { RevisionIndex, Version } from './revision-index.ts'
import { StoreError, type StoreEvent, type WatchOptions } from './store.ts'

/** Commits that a replay reads at once. */
const replayBatch = 64

interface Watcher {
  readonly prefix: string
  /** It ends when it has come so far. */
  readonly until: number
  /** Events up to here are delivered. */
  position: number
  readonly sink: (events: readonly StoreEvent[]) => void
  readonly end: (error?: unknown) => void
}

export class WatchHub {
  readonly #index: RevisionIndex
  readonly #eventsOf: (versions: readonly Version[]) => Promise<readonly StoreEvent[]>
  readonly #live = new Set<Watcher>()
  readonly #replaying = new Set<Watcher>()
  readonly #unpublished: (readonly StoreEvent[])[] = []

  /** `eventsOf` reads the events of committed versions, in order; it rejects with `compacted` when bytes are gone. */
  constructor(options: {
    index: RevisionIndex
    eventsOf: (versions: readonly Version[]) => Promise<readonly StoreEvent[]>
  }) {
    this.#index = options.index
    this.#eventsOf = options.eventsOf
  }

  /** Whether any watch would see a commit made now. */
  get hasLiveWatchers(): boolean {
    return this.#live.size > 0
  }

  /** See Store.watch. */
  async watch(options: WatchOptions, sink: (events: readonly StoreEvent[]) => void): Promise<void> {
    const { prefix, fromRevision, signal, until = Infinity } = options
    if (signal.aborted) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const end = (error?: unknown): void => {
      this.#live.delete(watcher)
      this.#replaying.delete(watcher)
      signal.removeEventListener('abort', onAbort)
      if (error === undefined) resolve()
      else reject(error)
    }
    const onAbort = (): void => end()
    const watcher: Watcher = { prefix, until, position: fromRevision, sink, end }
    signal.addEventListener('abort', onAbort)
    this.#replaying.add(watcher)
    this.#replay(watcher).catch(end)
    return promise
  }

  /**
   * Called from the commit path with consecutive commits, when the index already has them. A call from within a sink
   * is delivered when the outer call has reached every watcher, so that all see the same order.
   */
  publish(events: readonly StoreEvent[]): void {
    this.#unpublished.push(events)
    if (this.#unpublished.length > 1) return
    for (const batch of this.#unpublished) this.#deliverToLive(batch)
    this.#unpublished.length = 0
  }

  #deliverToLive(events: readonly StoreEvent[]): void {
    for (const watcher of this.#live) {
      const wanted = events.filter((event) => isWanted(event, watcher))
      if (wanted.length > 0) deliver(watcher, wanted)
    }
  }

  /** Ends every watch, with `closed` unless the store failed. */
  close(error = new StoreError('closed', 'the store has been closed')): void {
    for (const watcher of [...this.#live, ...this.#replaying]) watcher.end(error)
  }

  async #replay(watcher: Watcher): Promise<void> {
    while (this.#replaying.has(watcher)) {
      const versions = this.#index.commitsAfter(watcher.position, replayBatch)
      const last = versions.at(-1)
      if (watcher.position >= watcher.until) {
        watcher.end()
        return
      }
      if (last === undefined) {
        this.#replaying.delete(watcher)
        this.#live.add(watcher)
        return
      }
      const wanted = versions.filter((version) => version.key.startsWith(watcher.prefix))
      const events = await this.#eventsOf(wanted)
      if (!this.#replaying.has(watcher)) return
      watcher.position = last.revision
      if (events.length > 0) deliver(watcher, events)
    }
  }
}

function deliver(watcher: Watcher, events: readonly StoreEvent[]): void {
  try {
    watcher.sink(events)
  } catch (error) {
    // A sink must not throw; one that does ends its own watch and disturbs no commit.
    watcher.end(error)
  }
}

function isWanted(event: StoreEvent, watcher: Watcher): boolean {
  const { key, modRevision } =
    event.type === 'put' ? event.kv : { key: event.key, modRevision: event.revision }
  return modRevision > watcher.position && key.startsWith(watcher.prefix)
}
