/** Exited container: a simulated container after its end. */
import type { RuntimeContainer } from './container-runtime.ts'

export interface HowExited {
  readonly exitCode: number
  readonly signal?: number
}

export function exited(
  container: RuntimeContainer,
  how: HowExited,
  finishedMs: number,
): RuntimeContainer {
  const { id, state } = container
  const { startedMs } = state
  const reason = how.exitCode === 0 ? 'Completed' : 'Error'
  return { ...container, state: { kind: 'exited', id, startedMs, finishedMs, reason, ...how } }
}
