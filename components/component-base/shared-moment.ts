/** SharedMoment: lets thousands of timers of one period end together, so that what they do meets warm caches. Pure. */

const momentMs = 1000

/** About `delayMs`, up to half a second less or more: until a whole second. For delays of many seconds. */
export function untilSharedMoment(nowMs: number, delayMs: number): number {
  return Math.round((nowMs + delayMs) / momentMs) * momentMs - nowMs
}
