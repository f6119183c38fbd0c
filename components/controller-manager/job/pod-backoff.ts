/** How long to wait before a failed pod is replaced: 10 s, doubled up to 10 min (upstream: backoff_utils.go). */
import type { Pod } from '../../api/generated/types.ts'
import { finishedMs, indexFailures } from './job-pods.ts'
import type { JobRules } from './job-rules.ts'

const firstMs = 10_000
const longestMs = 600_000

export interface Backoff {
  readonly failuresAfterLastSuccess: number
  readonly lastFailureMs: number
}

export const noBackoff: Backoff = { failuresAfterLastSuccess: 0, lastFailureMs: 0 }

/** The back-off once these newly finished pods are counted too. A success ends it; failures after that success begin it anew. */
export function backoffAfter(
  known: Backoff,
  succeeded: readonly Pod[],
  failed: readonly Pod[],
): Backoff {
  if (succeeded.length === 0 && failed.length === 0) return known
  const successMs = Math.max(...succeeded.map(finishedMs), -Infinity)
  const failuresMs = failed.map(finishedMs).filter((ms) => ms > successMs)
  if (failuresMs.length === 0) return noBackoff
  const before = succeeded.length === 0 ? known.failuresAfterLastSuccess : 0
  return {
    failuresAfterLastSuccess: before + failuresMs.length,
    lastFailureMs: Math.max(...failuresMs),
  }
}

/** Milliseconds left to wait; 0 for none. */
export function backoffLeftMs(
  { failuresAfterLastSuccess, lastFailureMs }: Backoff,
  nowMs: number,
): number {
  if (failuresAfterLastSuccess === 0) return 0
  const wholeMs = Math.min(longestMs, firstMs * 2 ** Math.min(20, failuresAfterLastSuccess - 1))
  // A failure from the future, by a node's clock or ours before it was set back, delays by no more than a whole wait.
  return Math.min(wholeMs, Math.max(0, lastFailureMs + wholeMs - nowMs))
}

/** The same for one index, whose failures its last failed pod carries. */
export function indexBackoffLeftMs(
  lastFailed: Pod | undefined,
  rules: JobRules,
  nowMs: number,
): number {
  if (lastFailed === undefined) return 0
  const { counted, ignored } = indexFailures(lastFailed, rules)
  const backoff = {
    failuresAfterLastSuccess: counted + ignored + 1,
    lastFailureMs: finishedMs(lastFailed),
  }
  return backoffLeftMs(backoff, nowMs)
}
