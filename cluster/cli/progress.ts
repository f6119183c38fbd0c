/** Progress: one line per component or node that starts. A terminal shows them redrawn with a spinner; elsewhere each is written once. */
import type { Clock } from '../../components/component-base/clock.ts'
import type { ComponentStatus } from '../control-protocol.ts'
import { shortDuration, styled } from './terminal.ts'
import type { Terminal } from './terminal.ts'

export interface Progress {
  /** Sets the note of a line that is in progress; adds the line if it is new. */
  update(name: string, note: string): void
  done(name: string, note: string): void
  failed(name: string, note: string): void
  /** Draws a last time and stops. */
  end(): void
}

interface Line {
  readonly name: string
  state: 'waiting' | 'done' | 'failed'
  note: string
  endedMs?: number
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 80
const reminderMs = 5000

interface ProgressOptions {
  readonly terminal: Terminal
  readonly clock: Clock
  /** Lines shown from the start, in their order. */
  readonly names: readonly string[]
  /** Characters that names take at least. */
  readonly width?: number
}

/** The lines by name, in order of appearance, and their text. */
class Lines {
  readonly #terminal: Terminal
  readonly #clock: Clock
  readonly #startedMs: number
  readonly #width: number
  readonly #byName = new Map<string, Line>()

  constructor(options: ProgressOptions) {
    this.#terminal = options.terminal
    this.#clock = options.clock
    this.#startedMs = options.clock.now()
    this.#width = Math.max(options.width ?? 0, ...options.names.map((name) => name.length))
    for (const name of options.names) this.named(name)
  }

  named(name: string): Line {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const added: Line = { name, state: 'waiting', note: 'waiting' }
    this.#byName.set(name, added)
    return added
  }

  all(): Line[] {
    return [...this.#byName.values()]
  }

  textOf(line: Line): string {
    const { errColors } = this.#terminal
    const nowMs = this.#clock.now()
    const frame = frames[Math.floor((nowMs - this.#startedMs) / frameMs) % frames.length] ?? ''
    const sign = {
      waiting: styled(frame, 'cyan', errColors),
      done: styled('✓', 'green', errColors),
      failed: styled('✗', 'red', errColors),
    }[line.state]
    const took = shortDuration((line.endedMs ?? nowMs) - this.#startedMs).padStart(7)
    return ` ${sign} ${line.name.padEnd(this.#width)}  ${took}  ${line.note}`
  }
}

/** Redraws the lines on a terminal until the returned function is called. */
function redraw(lines: Lines, { terminal, clock }: ProgressOptions): () => void {
  let drawn = 0
  let cancel = (): void => {}
  const draw = (): void => {
    const up = drawn === 0 ? '' : `\u001b[${drawn}A`
    // Cut to the terminal's width: a line that wraps would make the cursor movement wrong.
    const body = lines
      .all()
      .map((line) => `\u001b[2K${clip(lines.textOf(line), terminal.columns)}\n`)
    terminal.err(up + body.join(''))
    drawn = body.length
  }
  const tick = (): void => {
    draw()
    cancel = clock.after(frameMs, tick)
  }
  tick()
  return () => {
    cancel()
    draw()
  }
}

/** Off a terminal: names what is still waited for every few seconds, until the returned function is called. */
function remind(lines: Lines, { terminal, clock }: ProgressOptions): () => void {
  let cancel = (): void => {}
  const tick = (): void => {
    const waiting = lines.all().filter((line) => line.state === 'waiting')
    const named = waiting.slice(0, 5).map((line) => `${line.name} (${line.note})`)
    if (waiting.length > named.length) named.push(`${waiting.length - named.length} more`)
    if (named.length > 0) terminal.err(`   waiting for ${named.join(', ')}\n`)
    cancel = clock.after(reminderMs, tick)
  }
  cancel = clock.after(reminderMs, tick)
  return () => cancel()
}

/** Shows the lines until `end` is called. */
export function createProgress(options: ProgressOptions): Progress {
  const { terminal, clock } = options
  const lines = new Lines(options)
  const end = terminal.isInteractive ? redraw(lines, options) : remind(lines, options)
  const settle = (name: string, state: 'done' | 'failed', note: string): void => {
    const line = lines.named(name)
    if (line.state === state) return
    Object.assign(line, { state, note, endedMs: clock.now() })
    if (!terminal.isInteractive) terminal.err(`${lines.textOf(line)}\n`)
  }
  return {
    update: (name, note) => void Object.assign(lines.named(name), { note, state: 'waiting' }),
    done: (name, note) => settle(name, 'done', note),
    failed: (name, note) => settle(name, 'failed', note),
    end,
  }
}

const lateMs = 1000

/** Does the work, with one line that appears when it has lasted for a second; what is quicker shows nothing. */
export async function withLateProgress<T>(
  context: { readonly terminal: Terminal; readonly clock: Clock },
  name: string,
  work: (update: (note: string) => void) => Promise<T>,
): Promise<T> {
  let progress: Progress | undefined
  let last = ''
  const cancel = context.clock.after(lateMs, () => {
    progress = createProgress({ ...context, names: [name] })
    progress.update(name, last)
  })
  try {
    const result = await work((note) => {
      last = note
      progress?.update(name, note)
    })
    progress?.done(name, last)
    return result
  } catch (error) {
    progress?.failed(name, 'failed')
    throw error
  } finally {
    cancel()
    progress?.end()
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
      const isOne = status.name === name
      // The name may be that of a program of which there are several.
      if (!isOne && status.program !== name) return
      last = status.state
      const note = status.message ?? status.state
      progress.update(name, isOne ? note : `${status.name} ${note}`)
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
