/** Progress: one line per thing that is waited for; redrawn with a spinner on a terminal, written once each elsewhere. */
import type { Clock } from '../../components/component-base/clock.ts'
import type { ComponentStatus } from '../control-protocol.ts'
import { shortDuration, styled } from './terminal.ts'
import type { Terminal } from './terminal.ts'

export interface Progress {
  /** What happens to it now; adds the line if it is new. */
  update(name: string, note: string): void
  /** It is done; `note` says how. */
  done(name: string, note: string): void
  failed(name: string, note: string): void
  /** Draws a last time and lets go of the terminal. */
  end(): void
}

interface Line {
  readonly name: string
  readonly startedMs: number
  state: 'waiting' | 'done' | 'failed'
  note: string
  endedMs?: number
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 80
const reminderMs = 5000

export function createProgress(options: {
  terminal: Terminal
  clock: Clock
  /** Lines that are there from the start, in their order. */
  names: readonly string[]
}): Progress {
  const { terminal, clock } = options
  const startedMs = clock.now()
  const lines = new Map<string, Line>()
  const lineOf = (name: string): Line => {
    const known = lines.get(name)
    if (known !== undefined) return known
    const added: Line = { name, startedMs: clock.now(), state: 'waiting', note: 'waiting' }
    lines.set(name, added)
    return added
  }
  for (const name of options.names) lineOf(name)
  const width = Math.max(0, ...options.names.map((name) => name.length))

  const text = (line: Line): string => {
    const frame = frames[Math.floor((clock.now() - startedMs) / frameMs) % frames.length] ?? ''
    const sign = {
      waiting: styled(frame, 'cyan', terminal.errColors),
      done: styled('✓', 'green', terminal.errColors),
      failed: styled('✗', 'red', terminal.errColors),
    }[line.state]
    const took = shortDuration((line.endedMs ?? clock.now()) - startedMs).padStart(7)
    return ` ${sign} ${line.name.padEnd(width)}  ${took}  ${line.note}`
  }

  let drawn = 0
  let cancel = (): void => {}
  const draw = (): void => {
    const up = drawn === 0 ? '' : `\u001b[${drawn}A`
    // Cut to the terminal's width: a line that wraps would throw the count of lines off.
    const body = [...lines.values()].map(
      (line) => `\u001b[2K${clip(text(line), terminal.columns)}\n`,
    )
    terminal.err(up + body.join(''))
    drawn = lines.size
  }
  const tick = (): void => {
    draw()
    cancel = clock.after(frameMs, tick)
  }
  /** Off a terminal: nobody should wait for minutes without being told for what. */
  const remind = (): void => {
    const waiting = [...lines.values()].filter((line) => line.state === 'waiting')
    const told = waiting.slice(0, 5).map((line) => `${line.name} (${line.note})`)
    if (waiting.length > told.length) told.push(`${waiting.length - told.length} more`)
    if (told.length > 0) terminal.err(`   waiting for ${told.join(', ')}\n`)
    cancel = clock.after(reminderMs, remind)
  }
  if (terminal.isInteractive) tick()
  else cancel = clock.after(reminderMs, remind)

  const settle = (name: string, state: 'done' | 'failed', note: string): void => {
    const line = lineOf(name)
    if (line.state === state) return
    line.state = state
    line.note = note
    line.endedMs = clock.now()
    if (!terminal.isInteractive) terminal.err(`${text(line)}\n`)
  }
  return {
    update: (name, note) => {
      const line = lineOf(name)
      line.note = note
      line.state = 'waiting'
    },
    done: (name, note) => settle(name, 'done', note),
    failed: (name, note) => settle(name, 'failed', note),
    end: () => {
      cancel()
      if (terminal.isInteractive) draw()
    },
  }
}

/** Shows one component's changes while `work` goes on. */
export async function showingComponent(
  context: { terminal: Terminal; clock: Clock },
  name: string,
  work: (onComponent: (status: ComponentStatus) => void) => Promise<void>,
): Promise<void> {
  const progress = createProgress({ ...context, names: [name] })
  let last = 'done'
  try {
    await work((status) => {
      if (status.name !== name) return
      last = status.state
      progress.update(name, status.message ?? status.state)
    })
    progress.done(name, last)
  } catch (error) {
    progress.failed(name, 'failed')
    throw error
  } finally {
    progress.end()
  }
}

/** At most `columns` visible characters; escape sequences count nothing. */
function clip(text: string, columns: number): string {
  // oxlint-disable-next-line no-control-regex -- escape sequences begin with that character
  const parts = text.split(/(\u001b\[[0-9;]*m)/)
  let left = Math.max(10, columns - 1)
  const kept = parts.map((part, index) => {
    if (index % 2 === 1) return part
    const piece = part.slice(0, left)
    left -= piece.length
    return piece
  })
  return kept.join('')
}
