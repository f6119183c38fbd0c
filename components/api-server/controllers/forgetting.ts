/** Forgetting: what an idle server keeps for too long. */
import type { Clock } from '../../component-base/clock.ts'
import { releaseIdleMemory } from '../../component-base/idle-memory.ts'
import type { Store } from '../../store/store.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'

/** How often the cache forgets history past its time, in collections where nothing happens. */
const forgetEveryMs = 30_000

/** Lets idle collections forget what is past its time, and gives memory back after a load, until `signal` aborts. */
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
