/** Durations of the library's options, in milliseconds. */
import { parseDuration } from '../components/component-base/flags.ts'

const dayMs = 86_400_000
/** Longer than any certificate lasts, and dates stay within those that JavaScript has. */
const longestMs = 36_500 * dayMs

export const durationForm =
  'a duration such as 250ms, 10s, 6m, 1h or 7d, or a number of milliseconds'

/** `10s` -> 10000; numbers are milliseconds. Undefined for anything else, for what is negative, and for more than 100 years. */
export function durationMs(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? textMs(value) : value
  return typeof ms === 'number' && ms >= 0 && ms <= longestMs ? ms : undefined
}

/** Go's durations (component-base/flags.ts), and whole or part days, which Go does not have. */
function textMs(text: string): number | undefined {
  const [, days] = /^(\d+(?:\.\d+)?)d$/.exec(text) ?? []
  return days === undefined ? parseDuration(text) : Number(days) * dayMs
}
