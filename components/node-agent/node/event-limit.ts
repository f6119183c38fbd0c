/** EventLimit: a token bucket for events; events beyond it are not recorded. */
import type { Clock } from '../../component-base/clock.ts'

/** True for each event that may be sent. `perSecond` 0 lets all through. */
export function createEventLimit(options: {
  perSecond: number
  burst: number
  clock: Clock
}): () => boolean {
  const { perSecond, burst, clock } = options
  if (perSecond <= 0) return () => true
  let tokens = burst
  let atMs = clock.now()
  return () => {
    const nowMs = clock.now()
    tokens = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * perSecond)
    atMs = nowMs
    if (tokens < 1) return false
    tokens -= 1
    return true
  }
}
