/** SharedMoment: lets timers of one period end together, so that what they do meets warm caches, and an advance has fewer moments to stop at. */
import type { Clock } from './clock.ts'

/** Thousands of timers are spread over the seconds of their period. */
const realMomentMs = 1000
/** Where time leaps, each moment costs processor time, and no client waits for it. */
const leapingMomentMs = 10_000

/**
 * `delayMs`, or less by up to one moment: until the clock shows whole seconds, or, while its time is not real, a multiple of ten seconds. For a
 * shorter `delayMs` a multiple of that. A timer that is set again then comes after the whole period.
 */
export function untilSharedMoment(clock: Pick<Clock, 'now' | 'isReal'>, delayMs: number): number {
  const nowMs = clock.now()
  const isLeaping = clock.isReal?.() === false
  const momentMs = Math.max(1, Math.min(isLeaping ? leapingMomentMs : realMomentMs, delayMs))
  return Math.max(1, Math.floor((nowMs + delayMs) / momentMs) * momentMs - nowMs)
}
