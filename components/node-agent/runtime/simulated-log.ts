/** Simulated log: computes the lines that a simulated container has written at a given time. It stores none. */
import type { LogLine, RuntimeContainer } from './container-runtime.ts'
import type { Written } from './simulated-command.ts'

/** The most lines to keep, as with log rotation. */
const mostLines = 10_000

/** A container's output between its start and end. */
export interface Writing {
  /** Interval between lines. */
  readonly everyMs?: number | undefined
  /** Exactly these lines, without lines for start and end. */
  readonly output?: readonly Written[] | undefined
}

/** The time that the container has run so far, or ran. */
function ageMs({ state }: RuntimeContainer, nowMs: number): number {
  return (state.kind === 'exited' ? state.finishedMs : nowMs) - state.startedMs
}

/** The number of lines written while it ran, without the first. */
function ticks(age: number, everyMs: number | undefined): number {
  return everyMs === undefined || everyMs <= 0 ? 0 : Math.max(0, Math.floor(age / everyMs))
}

/** The number of lines written by that time. */
function writtenBy(output: readonly Written[], age: number): number {
  const left = output.findIndex(({ afterMs }) => afterMs > age)
  return left < 0 ? output.length : left
}

/** The number of lines so far, including those rotated away. */
export function logLength(container: RuntimeContainer, writing: Writing, nowMs: number): number {
  const age = ageMs(container, nowMs)
  if (writing.output !== undefined) return writtenBy(writing.output, age)
  const isOver = container.state.kind === 'exited'
  return 1 + ticks(age, writing.everyMs) + (isOver ? 1 : 0)
}

/** The time after the start of the line with that index, if known. */
export function lineDueMs({ everyMs, output }: Writing, index: number): number | undefined {
  if (output !== undefined) return output[index]?.afterMs
  return everyMs ? index * everyMs : undefined
}

/** The lines from index `from` on, oldest first. */
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
