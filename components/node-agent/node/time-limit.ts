/** TimeLimit: ends work that takes too long, or whose owner ends, for work that is done over and over. */
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'

export interface TimeLimit {
  /** Calls `work` with a signal that aborts after the time, or with the owner's signal. One at a time. */
  during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/**
 * The signal is the same for every call until it aborts: one that follows two others (`AbortSignal.any`) costs as much as the rest of
 * a small request, and more when it is collected.
 */
export function createTimeLimit(
  clock: Clock,
  owner: AbortSignal,
  { ms, reason }: { readonly ms: number; readonly reason: string },
): TimeLimit {
  let current = new AbortController()
  const follow = (): void => current.abort(owner.reason)
  if (owner.aborted) follow()
  else owner.addEventListener('abort', follow, { once: true })
  return {
    during: async (work) => {
      if (current.signal.aborted && !owner.aborted) current = new AbortController()
      const limit = current
      const cancel = backgroundOf(clock).after(ms, () => limit.abort(new Error(reason)))
      try {
        return await work(limit.signal)
      } finally {
        cancel()
      }
    },
  }
}
