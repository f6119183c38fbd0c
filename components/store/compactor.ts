/** Compactor: keeps a store's history for a time and drops what is older (model: kube-apiserver's compactor of etcd). */
import type { Clock } from '../component-base/clock.ts'
import { silentLog, type Log } from '../component-base/log.ts'
import { StoreError, type Store } from './store.ts'

const defaultHistoryMs = 5 * 60_000
/** History is kept for up to this much longer. */
const sampleEveryMs = 30_000

export interface CompactorOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log?: Log
  /** How long every revision stays readable, at least; 5 minutes unless told. */
  readonly historyMs?: number
}

interface Sample {
  readonly atMs: number
  readonly revision: number
}

/** Nothing is known of the time before it runs, so history from before a restart starts to age anew. */
export class Compactor {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #historyMs: number
  /** The newest revision at past times, oldest first. */
  #samples: Sample[] = []

  constructor({ store, clock, log = silentLog, historyMs = defaultHistoryMs }: CompactorOptions) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#historyMs = historyMs
  }

  /** Works until `signal` aborts. A store that cannot write for now is tried again later; other errors reject. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (; !signal.aborted; await this.#clock.sleep(sampleEveryMs, signal)) await this.#tick()
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #tick(): Promise<void> {
    try {
      await this.#compactOld()
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'unavailable') throw error
      this.#log.warn('history could not be compacted', { error })
    }
  }

  async #compactOld(): Promise<void> {
    const now = this.#clock.now()
    this.#samples.push({ atMs: now, revision: await this.#store.revision() })
    const isOld = (sample: Sample): boolean => sample.atMs <= now - this.#historyMs
    const newestOld = this.#samples.findLast(isOld)
    if (newestOld === undefined) return
    await this.#store.compact(newestOld.revision)
    this.#samples = this.#samples.filter((sample) => !isOld(sample))
  }
}
