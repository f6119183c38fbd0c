/** Compactor: keeps a store's history for a time, or up to a cut, and drops what is older (model: kube-apiserver's compactor of etcd). */
import { upkeepOf } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import { silentLog, type Log } from '../component-base/log.ts'
import { untilSharedMoment } from '../component-base/shared-moment.ts'
import { isRefusal, type Store } from './store.ts'

const defaultHistoryMs = 5 * 60_000
/** History is kept for up to this much longer. */
const sampleEveryMs = 30_000
/** How soon a cut is followed: what is written meanwhile makes the file larger for good. */
const followEveryMs = 1000
/** Without a new cut, the compactor looks less and less often, up to this. */
const mostFollowEveryMs = 5000

export interface CompactorOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log?: Log
  /** How long every revision stays readable, at least; default 5 minutes. */
  readonly historyMs?: number
  /** The revision up to which no reader needs history, however young; called every second. */
  readonly cutRevision?: () => number
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
  readonly #cutRevision: (() => number) | undefined
  /** The newest revision at past times, oldest first. */
  #samples: Sample[] = []
  #followedTo = 0
  #followEveryMs = followEveryMs
  #isFailing = false

  constructor(options: CompactorOptions) {
    this.#store = options.store
    this.#clock = options.clock
    this.#log = options.log ?? silentLog
    this.#historyMs = options.historyMs ?? defaultHistoryMs
    this.#cutRevision = options.cutRevision
  }

  /** Works until `signal` aborts. A store that cannot write for now is tried again later; other errors reject. */
  async run(signal: AbortSignal): Promise<void> {
    const repeat = async (everyMs: () => number, work: () => Promise<void>): Promise<void> => {
      for (
        ;
        !signal.aborted;
        await upkeepOf(this.#clock).sleep(untilSharedMoment(this.#clock, everyMs()), signal)
      )
        await this.#attempt(work)
    }
    const cut = this.#cutRevision
    try {
      await Promise.all([
        repeat(
          () => sampleEveryMs,
          () => this.#compactOld(),
        ),
        ...(cut === undefined
          ? []
          : [
              repeat(
                () => this.#followEveryMs,
                () => this.#follow(cut()),
              ),
            ]),
      ])
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.#isFailing = false
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (!this.#isFailing) this.#log.warn('history could not be compacted', { error })
      this.#isFailing = true
    }
  }

  async #follow(revision: number): Promise<void> {
    const isIdle = revision <= this.#followedTo
    this.#followEveryMs = isIdle
      ? Math.min(mostFollowEveryMs, this.#followEveryMs + followEveryMs)
      : followEveryMs
    if (isIdle) return
    await this.#store.compact(revision)
    this.#followedTo = revision
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
