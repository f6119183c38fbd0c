/** Expiry: deletes keys whose time has come, on any Store (model: kine pkg/ttl). Kubernetes Events live for an hour. */
import { backgroundOf, upkeepOf } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import { silentLog, type Log } from '../component-base/log.ts'
import { compareTexts, SortedMap } from '../component-base/sorted-map.ts'
import { forwardingStore } from './forwarding-store.ts'
import { isRefusal, type Store } from './store.ts'

const tickMs = 1000
/** The pause while more than one tick's work is due. */
const busyTickMs = 100
/** A machine that was suspended notices within this time what has become due. */
const longestPauseMs = 60_000
/** So many deletions share a flush or two and hold up no other commit for long. */
const maxPerTick = 250

export interface ExpiryOptions {
  readonly store: Pick<Store, 'txn'>
  readonly clock: Clock
  readonly log?: Log
}

interface Deadline {
  readonly key: string
  readonly modRevision: number
  readonly expiresAtMs: number
}

/** Deadlines are in memory alone: the owner of the keys tracks them again after a restart. */
export class Expiry {
  readonly #store: Pick<Store, 'txn'>
  readonly #clock: Clock
  readonly #log: Log
  readonly #byKey = new Map<string, Deadline>()
  readonly #inOrder = new SortedMap<Deadline, true>(
    (a, b) => a.expiresAtMs - b.expiresAtMs || compareTexts(a.key, b.key),
  )
  /** While it sleeps: until when, and how to wake it. */
  #sleeping: { readonly untilMs: number; readonly wake: AbortController } | undefined

  constructor({ store, clock, log = silentLog }: ExpiryOptions) {
    this.#store = store
    this.#clock = clock
    this.#log = log
  }

  /** How many keys wait for their time. */
  get size(): number {
    return this.#byKey.size
  }

  /**
   * Deletes the key at or soon after `expiresAtMs` if it still has this revision then. A key that is written again
   * outlives its old deadline and must be tracked again; the newest call for a key counts.
   */
  track(key: string, modRevision: number, expiresAtMs: number): void {
    this.#forget(this.#byKey.get(key))
    const deadline = { key, modRevision, expiresAtMs }
    this.#byKey.set(key, deadline)
    this.#inOrder.set(deadline, true)
    if (expiresAtMs < (this.#sleeping?.untilMs ?? 0)) this.#sleeping?.wake.abort()
  }

  /** Works until `signal` aborts. A store that cannot write for now is tried again later; other errors reject. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const isBusy = await this.#tick()
        await this.#pause(isBusy ? busyTickMs : tickMs, signal)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  /** Until something can be due, and for as long as `leastMs`. Rejects when `signal` aborts. */
  async #pause(leastMs: number, signal: AbortSignal): Promise<void> {
    const clock = backgroundOf(this.#clock)
    await clock.sleep(leastMs, signal)
    const nowMs = clock.now()
    const [first] = this.#inOrder.entries().next().value ?? []
    const leftMs = (first?.expiresAtMs ?? Infinity) - nowMs
    if (leftMs <= 0) return
    const wake = new AbortController()
    const isLook = leftMs > longestPauseMs && (first === undefined || clock.isReal?.() !== false)
    const forMs = isLook ? longestPauseMs : leftMs
    this.#sleeping = { untilMs: nowMs + forMs, wake }
    try {
      await (isLook ? upkeepOf(this.#clock) : clock).sleep(
        forMs,
        AbortSignal.any([signal, wake.signal]),
      )
    } catch {
      // Something is due sooner, or it ends.
      signal.throwIfAborted()
    } finally {
      this.#sleeping = undefined
    }
  }

  /** True when more is due than one tick may do. */
  async #tick(): Promise<boolean> {
    const due = this.#takeDue()
    try {
      await Promise.all(due.map(async (deadline) => this.#expire(deadline)))
    } catch (error) {
      if (!isRefusal(error)) throw error
      this.#log.warn('expired keys could not be deleted', { error })
      return false
    }
    return due.length === maxPerTick
  }

  #takeDue(): Deadline[] {
    const now = this.#clock.now()
    const due: Deadline[] = []
    for (const [deadline] of this.#inOrder.entries()) {
      if (deadline.expiresAtMs > now || due.length === maxPerTick) break
      due.push(deadline)
    }
    return due
  }

  async #expire(deadline: Deadline): Promise<void> {
    const { key, modRevision } = deadline
    // A lost compare means that the key was written again or is gone: either way this deadline is over.
    await this.#store.txn({ key, expectedRevision: modRevision, value: null })
    this.#forget(deadline)
  }

  #forget(deadline: Deadline | undefined): void {
    if (deadline === undefined) return
    this.#inOrder.delete(deadline)
    if (this.#byKey.get(deadline.key) === deadline) this.#byKey.delete(deadline.key)
  }
}

/** The same store: `expiry` deletes what is written with a time to live, as long as it runs. */
export function expiringStore(store: Store, expiry: Expiry, clock: Clock): Store {
  return {
    ...forwardingStore(store),
    txn: (txn) => {
      const result = store.txn(txn)
      const { key, expiresAfterMs } = txn
      if (expiresAfterMs === undefined) return result
      return result.then((done) => {
        if (done.ok) expiry.track(key, done.revision, clock.now() + expiresAfterMs)
        return done
      })
    },
  }
}
