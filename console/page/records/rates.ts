/** rates: how many requests a second, and how long they took. Pure. */
import type { RequestRecord } from '../../../components/api/request-record.ts'

export interface Rates {
  /** Requests of each second, the oldest first. */
  readonly perSecond: readonly number[]
  /** Milliseconds; undefined without a request. */
  readonly p50: number | undefined
  readonly p99: number | undefined
  readonly failed: number
  readonly total: number
}

/** The value at a share of the sorted values. */
function quantile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

/** Of the last `seconds` before `nowMs`. Watches, which last, have no latency. */
export function ratesOf(
  records: Iterable<RequestRecord>,
  { nowMs, seconds }: { readonly nowMs: number; readonly seconds: number },
): Rates {
  const perSecond = Array.from({ length: seconds }, () => 0)
  const durations: number[] = []
  let [failed, total] = [0, 0]
  for (const { atMs, durationMs, status, verb } of records) {
    const second = seconds - 1 - Math.floor((nowMs - atMs) / 1000)
    if (second < 0 || second >= seconds) continue
    perSecond[second] = (perSecond[second] ?? 0) + 1
    total += 1
    if (status >= 400) failed += 1
    if (verb !== 'watch') durations.push(durationMs)
  }
  durations.sort((one, other) => one - other)
  return { perSecond, p50: quantile(durations, 0.5), p99: quantile(durations, 0.99), failed, total }
}
