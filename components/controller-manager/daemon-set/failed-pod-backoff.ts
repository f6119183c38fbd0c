/** How long a failed daemon stays before it is replaced: longer each time, so that a node that rejects pods is asked seldom. */
import { backoffDelay } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'

const backoff = { initialMs: 1000, maxMs: 15 * 60_000 }

interface Failure {
  readonly attempt: number
  readonly atMs: number
}

export interface FailedPodBackoff {
  /** Milliseconds until the pod under this key may be deleted; 0 when it may, which counts as an attempt. */
  attemptInMs(key: string): number
}

/** A key that rests for twice the longest delay starts over (upstream: client-go flowcontrol.Backoff). */
export function createFailedPodBackoff(clock: Clock): FailedPodBackoff {
  const failures = new Map<string, Failure>()
  return {
    attemptInMs: (key) => {
      const nowMs = clock.now()
      for (const [old, { atMs }] of failures)
        if (nowMs - atMs > 2 * backoff.maxMs) failures.delete(old)
      const last = failures.get(key)
      const leftMs =
        last === undefined ? 0 : last.atMs + backoffDelay(backoff, last.attempt) - nowMs
      if (leftMs > 0) return leftMs
      failures.set(key, { attempt: last === undefined ? 0 : last.attempt + 1, atMs: nowMs })
      return 0
    },
  }
}
