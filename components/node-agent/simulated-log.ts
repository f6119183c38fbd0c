/** Simulated log: what a container that exists only as a record has written by some moment; computed, never stored. */
import type { LogLine, RuntimeContainer } from './container-runtime.ts'

/** Older lines are gone, as when a log was rotated. */
const mostLines = 10_000

/** How many lines were written while it ran, apart from the first. */
function ticksBy(container: RuntimeContainer, everyMs: number | undefined, nowMs: number): number {
  const { state } = container
  if (everyMs === undefined || everyMs <= 0) return 0
  const endMs = state.kind === 'exited' ? state.finishedMs : nowMs
  return Math.max(0, Math.floor((endMs - state.startedMs) / everyMs))
}

/** How many lines there are by now, those that are gone included. */
export function logLength(
  container: RuntimeContainer,
  more: { everyMs: number | undefined; nowMs: number },
): number {
  const isOver = container.state.kind === 'exited'
  return 1 + ticksBy(container, more.everyMs, more.nowMs) + (isOver ? 1 : 0)
}

/** The lines from the one with that index, oldest first. `everyMs`: how often the container writes a line. */
export function logLines(
  container: RuntimeContainer,
  more: { everyMs: number | undefined; nowMs: number; from: number },
): LogLine[] {
  const { name, attempt, state } = container
  const { everyMs, nowMs } = more
  const length = logLength(container, more)
  const ticks = ticksBy(container, everyMs, nowMs)
  const first = Math.max(more.from, length - mostLines)
  return Array.from({ length: Math.max(0, length - first) }, (_, offset): LogLine => {
    const index = first + offset
    if (index === 0)
      return { timeMs: state.startedMs, text: `${name} started (attempt ${attempt})` }
    if (index <= ticks || state.kind !== 'exited') {
      return { timeMs: state.startedMs + index * (everyMs ?? 0), text: `${name} line ${index}` }
    }
    return { timeMs: state.finishedMs, text: `${name} exited with ${state.exitCode}` }
  })
}
