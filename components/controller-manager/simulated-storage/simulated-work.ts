/** SimulatedWork: work on objects that takes time or fails on request, and is tried again with growing delays. */
import type { StorageWish } from '../../api/simulation.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'

/** As upstream's external provisioner (--retry-interval-start, --retry-interval-max). */
const retryDelays = { initialMs: 1000, maxMs: 300_000 }

export type WorkState =
  | { readonly kind: 'done' }
  /** It failed now, and is to be tried again after this time. */
  | { readonly kind: 'failed'; readonly retryInMs: number }
  /** It takes this much longer, or waits for its next try. */
  | { readonly kind: 'waiting'; readonly leftMs: number }

export interface SimulatedWork {
  /** Whether the work on this object has begun; the call begins it. */
  hasBegun(key: string, uid: string): boolean
  /** How far it is now. `hasBegun` was asked before. */
  advance(key: string, wish: StorageWish | undefined): WorkState
  /** The work is done, or its object is gone. */
  forget(key: string): void
}

interface Entry {
  readonly uid: string
  readonly startedMs: number
  failures: number
  retryAtMs: number
}

export function createSimulatedWork(clock: Clock): SimulatedWork {
  const entries = new Map<string, Entry>()
  return {
    hasBegun: (key, uid) => {
      if (entries.get(key)?.uid === uid) return true
      entries.set(key, { uid, startedMs: clock.now(), failures: 0, retryAtMs: 0 })
      return false
    },
    advance: (key, wish) => {
      const entry = entries.get(key)
      if (entry === undefined || wish === undefined) return { kind: 'done' }
      const nowMs = clock.now()
      if (wish === 'fail') {
        if (nowMs < entry.retryAtMs) return { kind: 'waiting', leftMs: entry.retryAtMs - nowMs }
        const retryInMs = backoffDelay(retryDelays, entry.failures)
        entry.failures += 1
        entry.retryAtMs = nowMs + retryInMs
        return { kind: 'failed', retryInMs }
      }
      const leftMs = entry.startedMs + wish - nowMs
      return leftMs > 0 ? { kind: 'waiting', leftMs } : { kind: 'done' }
    },
    forget: (key) => void entries.delete(key),
  }
}
