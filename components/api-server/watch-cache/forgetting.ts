/** Forgetting: what idle collections keep for too long. */
import type { Clock } from '../../component-base/clock.ts'
import type { WatchCache } from './watch-cache.ts'

/** How often the cache forgets history past its time, in collections where nothing happens. */
const forgetEveryMs = 30_000

/** Lets idle collections forget what is past its time, until `signal` aborts. */
export async function forgetting(
  cache: WatchCache,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
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
