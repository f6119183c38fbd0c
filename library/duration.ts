/** Durations of the library's options, in milliseconds. */
import { durationOf } from '../cluster/duration.ts'

const dayMs = 86_400_000
/** Longer than any certificate lasts, and dates stay within those that JavaScript has. */
const longestMs = 36_500 * dayMs

export const durationForm =
  'a duration such as 250ms, 10s, 6m, 1h or 7d, or a number of milliseconds'

/** `10s` -> 10000; numbers are milliseconds. Undefined for anything else, for what is negative, and for more than 100 years. */
export function durationMs(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? durationOf(value) : value
  return typeof ms === 'number' && ms >= 0 && ms <= longestMs ? ms : undefined
}
