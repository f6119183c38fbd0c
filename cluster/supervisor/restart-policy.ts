/** Restart policy: when a component that ended by itself is started again. Pure. */
import { backoffDelay } from '../../components/component-base/backoff.ts'

export interface ComponentEnd {
  /** Whether this run had become ready. */
  readonly wasReady: boolean
  readonly ranMs: number
  /** The signal that ended it, if one did. */
  readonly signal: string | undefined
}

export interface RestartDecision {
  readonly delayMs: number
  /** Ends in a row that count as a crash; give it back with the next end. */
  readonly crashes: number
}

/** A component that was ready for this long has recovered; earlier crashes are forgotten. */
const stableMs = 10_000
const killSignals = new Set(['SIGKILL', 'SIGTERM', 'SIGINT'])

/**
 * The first restart is immediate, then 0.1, 0.2, 0.4 ... 10 s. A kill from outside is not the component's
 * fault: once it was ready, it starts again at once however often that happens.
 */
export function decideRestart(end: ComponentEnd, crashes: number): RestartDecision {
  const wasKilled = end.signal !== undefined && killSignals.has(end.signal)
  if (end.wasReady && wasKilled) return { delayMs: 0, crashes: 0 }
  const inRow = end.wasReady && end.ranMs >= stableMs ? 1 : crashes + 1
  const delayMs = inRow === 1 ? 0 : backoffDelay({ initialMs: 100, maxMs: 10_000 }, inRow - 2)
  return { delayMs, crashes: inRow }
}
