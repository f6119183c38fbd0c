/** forgetting: frees the memory that an idle server no longer needs. */
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { releaseIdleMemory } from '../../component-base/idle-memory.ts'
import { untilSharedMoment } from '../../component-base/shared-moment.ts'
import type { Store } from '../../store/store.ts'
import type { Caches } from '../watch-cache/caches.ts'

/** How often collections without changes drop expired history. */
const forgetEveryMs = 30_000

/** Drops expired history of idle collections, and releases memory after a load, until `signal` aborts. */
export async function forgetting(of: {
  cache: Caches
  stores: readonly Store[]
  clock: Clock
  signal: AbortSignal
}): Promise<void> {
  const { cache, stores, clock, signal } = of
  const releasing = releaseIdleMemory({
    clock,
    signal,
    keptBytes: () => cache.history.bytes,
    release: async () => {
      await Promise.all(stores.map((store) => store.releaseMemory()))
    },
  })
  await Promise.all([forgetPast(cache, clock, signal), releasing])
}

async function forgetPast(cache: Caches, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await upkeepOf(clock).sleep(untilSharedMoment(clock, forgetEveryMs), signal)
    } catch (error) {
      if (signal.aborted) return
      throw error
    }
    cache.forget()
  }
}
