/**
 * WorkQueue: keys waiting for work. A key waits once however often it is added, is never worked on twice at once, and a key
 * added while it is worked on comes again afterwards (model: client-go util/workqueue).
 */
import { backoffDelay } from '../component-base/backoff.ts'
import { upkeepOf, type Clock } from '../component-base/clock.ts'
import { carryCause, currentCause, retryCause, withCause, type Cause } from './cause.ts'

export interface WorkQueue {
  add(key: string): void
  /** Adds the key once `ms` have passed; the earliest of several such calls counts. `isUpkeep`: it may come late, as `Clock.upkeep` says. */
  addAfter(key: string, ms: number, isUpkeep?: boolean): void
  /** Adds the key after its own growing delay, and after the rate limit all retries share. */
  addRateLimited(key: string): void
  /** Ends the key's growing delay: call it after a success. */
  forget(key: string): void
  /** How often the key was added by addRateLimited since it was last forgotten. */
  retries(key: string): number
  /** The oldest waiting key, once there is one; undefined when the queue was shut down. The caller must call `done`. */
  next(): Promise<string | undefined>
  /** Why a key that is worked on was added: the cause of the newest call. */
  causeOf(key: string): Cause | undefined
  /** The key is no longer worked on. */
  done(key: string): void
  /** Drops the waiting keys; `next` gives undefined from now on. */
  shutDown(): void
  /** Keys that wait now, without the delayed ones. */
  readonly size: number
  /** Keys that are worked on. */
  readonly processing: number
}

/** Notified of each step of a key, for metrics. */
export interface WorkQueueObserver {
  /** The key waits now and did not before. */
  added(key: string): void
  retried(): void
  started(key: string): void
  finished(key: string): void
}

/** Makes the queue of that name; `delays` are those of its retries, where upstream's controller has its own. */
export type WorkQueues = (
  name: string,
  delays?: { readonly initialMs: number; readonly maxMs: number },
) => WorkQueue

export interface WorkQueueOptions {
  readonly clock: Clock
  readonly observer?: WorkQueueObserver | undefined
  /** The first retry's delay; default 5 ms, as upstream. */
  readonly initialMs?: number
  /** The longest retry delay; default 1000 s, as upstream. */
  readonly maxMs?: number
  /** Retries a second, all keys together, past a burst; default 10 and 100, as upstream. */
  readonly ratePerSecond?: number
  readonly burst?: number
}

/** A queue of keys, with delays and rate limits in front of it, as upstream layers its queues. */
export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock, observer } = options
  const keys = createKeyQueue(observer)
  const delays = createDelays(clock, keys.add)
  const retries = createRetryLimiter(options)
  const addAfter = (key: string, ms: number, isUpkeep = false): void => {
    if (keys.isShutDown) return
    if (ms <= 0) keys.add(key)
    else delays.add(key, ms, isUpkeep)
  }
  return {
    add: keys.add,
    addAfter,
    addRateLimited: (key) => {
      observer?.retried()
      withCause(retryCause, () => addAfter(key, retries.delayMs(key)))
    },
    forget: retries.forget,
    retries: retries.count,
    next: keys.next,
    causeOf: keys.causeOf,
    done: keys.done,
    shutDown: () => {
      delays.clear()
      keys.shutDown()
    },
    get size() {
      return keys.size
    },
    get processing() {
      return keys.processing
    },
  }
}

/** The keys that are worked on, and why they, and those that wait, were added. */
function createProcessing() {
  const waiting = new Map<string, Cause>()
  const processing = new Map<string, Cause | undefined>()
  return {
    /** The key is added for the cause of now. */
    note: (key: string): void => {
      const cause = currentCause()
      if (cause !== undefined) waiting.set(key, cause)
    },
    start: (key: string): void => {
      processing.set(key, waiting.get(key))
      waiting.delete(key)
    },
    has: (key: string): boolean => processing.has(key),
    causeOf: (key: string): Cause | undefined => processing.get(key),
    end: (key: string): void => void processing.delete(key),
    forgetWaiting: (): void => waiting.clear(),
    get size() {
      return processing.size
    },
  }
}

/** The dirty and processing sets that keep a key from being worked on twice at once (upstream: workqueue/queue.go). */
function createKeyQueue(observer: WorkQueueObserver | undefined) {
  const waiting: string[] = []
  const dirty = new Set<string>()
  const processing = createProcessing()
  const sleepers: ((key: string | undefined) => void)[] = []
  let isShutDown = false
  const start = (key: string): void => {
    dirty.delete(key)
    processing.start(key)
    observer?.started(key)
  }
  const offer = (key: string): void => {
    const sleeper = sleepers.shift()
    if (sleeper === undefined) {
      waiting.push(key)
      return
    }
    start(key)
    sleeper(key)
  }
  return {
    add: (key: string): void => {
      if (isShutDown) return
      processing.note(key)
      if (dirty.has(key)) return
      dirty.add(key)
      observer?.added(key)
      if (!processing.has(key)) offer(key)
    },
    next: async (): Promise<string | undefined> => {
      if (isShutDown) return undefined
      const key = waiting.shift()
      if (key === undefined) return new Promise((resolve) => sleepers.push(resolve))
      start(key)
      return key
    },
    causeOf: processing.causeOf,
    done: (key: string): void => {
      processing.end(key)
      observer?.finished(key)
      if (dirty.has(key) && !isShutDown) offer(key)
    },
    shutDown: (): void => {
      isShutDown = true
      waiting.length = 0
      dirty.clear()
      processing.forgetWaiting()
      for (const sleeper of sleepers.splice(0)) sleeper(undefined)
    },
    get isShutDown() {
      return isShutDown
    },
    get size() {
      return waiting.length
    },
    get processing() {
      return processing.size
    },
  }
}

/** Keys to add later, each once, at the earliest of its times (upstream: workqueue/delaying_queue.go). */
function createDelays(clock: Clock, add: (key: string) => void) {
  const delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>()
  return {
    add: (key: string, ms: number, isUpkeep: boolean): void => {
      const at = clock.now() + ms
      const earlier = delayed.get(key)
      if (earlier !== undefined && earlier.at <= at) return
      earlier?.cancel()
      const fire = carryCause(() => {
        delayed.delete(key)
        add(key)
      })
      const cancel = (isUpkeep ? upkeepOf(clock) : clock).after(ms, fire)
      delayed.set(key, { at, cancel })
    },
    clear: (): void => {
      for (const { cancel } of delayed.values()) cancel()
      delayed.clear()
    },
  }
}

/** A delay that grows with each key's failures, and a bucket of tokens that all keys share (upstream: default_rate_limiters.go). */
function createRetryLimiter(options: WorkQueueOptions) {
  const { clock, initialMs = 5, maxMs = 1_000_000, ratePerSecond = 10, burst = 100 } = options
  const failures = new Map<string, number>()
  let tokens = burst
  let refilledAt = clock.now()
  /** Takes one token of the shared bucket; gives how long to wait for it. */
  const reserve = (): number => {
    const now = clock.now()
    // A clock that was set back took no time away.
    const sinceMs = Math.max(0, now - refilledAt)
    tokens = Math.min(burst, tokens + (sinceMs / 1000) * ratePerSecond)
    refilledAt = now
    tokens -= 1
    return tokens >= 0 ? 0 : (-tokens / ratePerSecond) * 1000
  }
  return {
    delayMs: (key: string): number => {
      const tries = failures.get(key) ?? 0
      failures.set(key, tries + 1)
      return Math.max(backoffDelay({ initialMs, maxMs }, tries), reserve())
    },
    forget: (key: string): void => void failures.delete(key),
    count: (key: string): number => failures.get(key) ?? 0,
  }
}
