/** forgetting: frees the memory that an idle server no longer needs. */
import type { Clock } from '../../component-base/clock.ts'
import { releaseIdleMemory } from '../../component-base/idle-memory.ts'
import type { Store } from '../../store/store.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'

/** How often collections without changes drop expired history. */
const forgetEveryMs = 30_000

/** Drops expired history of idle collections, and releases memory after a load, until `signal` aborts. */
export async function forgetting(of: {
  cache: WatchCache
  store: Store
  clock: Clock
  signal: AbortSignal
}): Promise<void> {
  const { cache, store, clock, signal } = of
  const releasing = releaseIdleMemory({
    clock,
    signal,
    keptBytes: () => cache.history.bytes,
    release: () => store.releaseMemory(),
  })
  await Promise.all([forgetPast(cache, clock, signal), releasing])
}

async function forgetPast(cache: WatchCache, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(forgetEveryMs, signal)
    } catch (error) {
      if (signal.aborted) return
      throw error
    }
    cache.forget()
  }
}
