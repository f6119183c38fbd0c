/**
 * ConvertedWatcher: a watcher of a kind whose versions a service converts. Events wait, in their order, until what they show
 * has been converted; the service is asked for each but once, whatever the number of watchers.
 */
import type { CacheEvent, Entry } from './entry.ts'
import { Watcher, type WatcherOptions } from './watcher.ts'

/** Events that may wait before the watcher is cut off, and what their objects may hold. */
const mostWaiting = 1000
const mostWaitingBytes = 16 * 1024 * 1024

export class ConvertedWatcher extends Watcher {
  readonly #selects: boolean
  readonly #prepare: (entries: readonly Entry[]) => Promise<void> | undefined
  readonly #failed: (error: unknown) => Buffer
  #queued: CacheEvent[] = []
  #waitingBytes = 0
  #isDraining = false
  #isEnding = false

  /** `failed` makes the frame that tells of a conversion that failed, which ends the watch. */
  constructor(
    options: WatcherOptions,
    by: {
      prepare: (entries: readonly Entry[]) => Promise<void> | undefined
      failed: (error: unknown) => Buffer
    },
  ) {
    super(options)
    this.#selects = options.matches !== undefined
    this.#prepare = by.prepare
    this.#failed = by.failed
  }

  override get isBehind(): boolean {
    return this.#isDraining
  }

  override get waitingEvents(): number {
    return super.waitingEvents + this.#queued.length
  }

  override offer(event: CacheEvent): void {
    if (this.hasEnded || this.#isEnding || this.overflowed || !this.covers(event.key)) return
    if (!this.#isDraining) {
      const preparing = this.#prepare(this.#shownBy(event))
      if (preparing === undefined) {
        super.offer(event)
        return
      }
      preparing.catch(() => {
        // Reported by the caller that awaits it below.
      })
    }
    this.#queued.push(event)
    this.#waitingBytes += (event.entry ?? event.previous)?.mostBytes ?? 0
    if (this.#queued.length > mostWaiting || this.#waitingBytes > mostWaitingBytes) {
      this.#queued = []
      this.#waitingBytes = 0
      this.cutOff()
    } else if (!this.#isDraining) void this.#drain()
  }

  override end(): void {
    if (this.#isDraining) this.#isEnding = true
    else super.end()
  }

  /** What it may have to look at, or to show. */
  #shownBy(event: CacheEvent): Entry[] {
    const { entry, previous } = event
    const shown = entry === undefined ? [event.lastSeen()] : [entry]
    if (!this.#selects || previous === undefined) return shown
    return entry === undefined ? [...shown, previous] : [...shown, previous, event.lastSeen()]
  }

  /** Converts all waiting entries in one call; those that arrive meanwhile go with the next one. */
  async #drain(): Promise<void> {
    this.#isDraining = true
    try {
      while (this.#queued.length > 0) {
        const events = this.#queued
        this.#queued = []
        this.#waitingBytes = 0
        await this.#prepare(events.flatMap((event) => this.#shownBy(event)))
        for (const event of events) super.offer(event)
      }
      if (this.#isEnding) super.end()
    } catch (error) {
      this.push(this.#failed(error))
      super.end()
    } finally {
      this.#isDraining = false
      this.wake()
    }
  }
}
