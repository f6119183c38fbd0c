/** Exited container: a simulated container after its end. */
import type { RuntimeContainer } from './container-runtime.ts'

export interface HowExited {
  readonly exitCode: number
  readonly signal?: number
  /** Default: by the exit code. */
  readonly reason?: 'OOMKilled'
}

/** The kernel kills what exceeds its memory: 137 is 128 + SIGKILL. */
export const outOfMemory: HowExited = { exitCode: 137, reason: 'OOMKilled' }

export function exited(
  container: RuntimeContainer,
  how: HowExited,
  finishedMs: number,
): RuntimeContainer {
  const { id, state } = container
  const { startedMs } = state
  const reason = how.reason ?? (how.exitCode === 0 ? 'Completed' : 'Error')
  return { ...container, state: { kind: 'exited', id, startedMs, finishedMs, ...how, reason } }
}
