/** Durations of the cluster's time as users write them: Go's, and days. */
import { parseDuration } from '../components/component-base/flags.ts'

const dayMs = 86_400_000

/** Texts that `durationOf` takes, after their sign. */
export const durationPattern = String.raw`(((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+|\d+(\.\d+)?d|0)$`

/** `1h30m` -> 5400000, `7d` -> 604800000, `-0.5d` -> -43200000. Undefined for other texts. Days stand alone. */
export function durationOf(text: string): number | undefined {
  const [, days] = /^([+-]?\d+(?:\.\d+)?)d$/.exec(text) ?? []
  return days === undefined ? parseDuration(text) : Number(days) * dayMs
}
