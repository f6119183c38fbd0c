/** Simulated log: what a container that exists only as a record has written by some moment; computed, never stored. */
import type { LogLine, RuntimeContainer } from './container-runtime.ts'
import type { Written } from './simulated-command.ts'

/** Older lines are gone, as when a log was rotated. */
const mostLines = 10_000

/** A container's output besides its start and end. */
export interface Writing {
  /** One line at this pace. */
  readonly everyMs?: number | undefined
  /** These lines and nothing else: neither its start nor its end. */
  readonly output?: readonly Written[] | undefined
}

/** How long the container has run by now, or did. */
function ageMs({ state }: RuntimeContainer, nowMs: number): number {
  return (state.kind === 'exited' ? state.finishedMs : nowMs) - state.startedMs
}

/** How many lines were written while it ran, apart from the first. */
function ticks(age: number, everyMs: number | undefined): number {
  return everyMs === undefined || everyMs <= 0 ? 0 : Math.max(0, Math.floor(age / everyMs))
}

/** How many of the lines are written by then. */
function writtenBy(output: readonly Written[], age: number): number {
  const left = output.findIndex(({ afterMs }) => afterMs > age)
  return left < 0 ? output.length : left
}

/** How many lines there are by now, those that are gone included. */
export function logLength(container: RuntimeContainer, writing: Writing, nowMs: number): number {
  const age = ageMs(container, nowMs)
  if (writing.output !== undefined) return writtenBy(writing.output, age)
  const isOver = container.state.kind === 'exited'
  return 1 + ticks(age, writing.everyMs) + (isOver ? 1 : 0)
}

/** How long after its start the container writes the line with that index, if it is known. */
export function lineDueMs({ everyMs, output }: Writing, index: number): number | undefined {
  if (output !== undefined) return output[index]?.afterMs
  return everyMs ? index * everyMs : undefined
}

/** The lines from the one with index `from`, oldest first. */
export function logLines(
  container: RuntimeContainer,
  writing: Writing,
  { from, nowMs }: { from: number; nowMs: number },
): LogLine[] {
  const { name, attempt, state } = container
  const { everyMs, output } = writing
  const length = logLength(container, writing, nowMs)
  const paced = ticks(ageMs(container, nowMs), everyMs)
  const first = Math.max(from, length - mostLines)
  return Array.from({ length: Math.max(0, length - first) }, (_, offset): LogLine => {
    const index = first + offset
    const said = output?.[index]
    if (said !== undefined) {
      const { afterMs, ...line } = said
      return { timeMs: state.startedMs + afterMs, ...line }
    }
    if (index === 0)
      return { timeMs: state.startedMs, text: `${name} started (attempt ${attempt})` }
    if (index <= paced || state.kind !== 'exited') {
      return { timeMs: state.startedMs + index * (everyMs ?? 0), text: `${name} line ${index}` }
    }
    return { timeMs: state.finishedMs, text: `${name} exited with ${state.exitCode}` }
  })
}
