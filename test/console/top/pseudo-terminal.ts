/** A command in a pseudo terminal, by Python's, and the screen that it draws, by xterm's own parser. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import { eventually } from '../../support/eventually.ts'

export interface Ended {
  readonly code: number
  /** Whether the terminal's modes are those of before. */
  readonly isRestored: boolean
}

export interface PseudoTerminal extends AsyncDisposable {
  /** The rows of the screen, without spaces at their ends. */
  rows(): string[]
  /** Waits for a screen that has the text, or matches. */
  shows(what: string | RegExp): Promise<void>
  type(keys: string): void
  resize(rows: number, columns: number): void
  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGHUP'): void
  /** Everything that was written. */
  readonly written: string
  /** Whether the program is on the alternate screen. */
  readonly isFullScreen: boolean
  readonly ended: Promise<Ended>
}

export interface PseudoTerminalOptions {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly rows?: number
  readonly columns?: number
}

/** Why there is no pseudo terminal here; undefined when there is one. */
export function terminalHindrance(): string | undefined {
  try {
    execFileSync('python3', ['-c', 'import pty, termios'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'there is no python3 with pty and termios'
  }
}

function rowsOf(terminal: xterm.Terminal): string[] {
  const { active } = terminal.buffer
  return Array.from({ length: terminal.rows }, (_, row) => {
    return active.getLine(active.baseY + row)?.translateToString(true) ?? ''
  })
}

/** Disposing ends the command. */
export function openPseudoTerminal(options: PseudoTerminalOptions): PseudoTerminal {
  const { command, environment, rows = 30, columns = 120 } = options
  const script = join(import.meta.dirname, 'in-pty.py')
  const child = spawn('python3', [script, String(rows), String(columns), ...command], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], TERM: 'xterm-256color', ...environment },
  })
  const terminal = new xterm.Terminal({ rows, cols: columns, allowProposedApi: true })
  let written = ''
  let report = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text
    terminal.write(text)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (report += text))
  const ended = once(child, 'close').then(() => {
    try {
      return JSON.parse(report.trim().split('\n').at(-1) ?? '') as Ended
    } catch (error) {
      throw new Error(`the pseudo terminal ended without a report: ${report}`, { cause: error })
    }
  })
  ended.catch(() => {}) // for a test that does not wait for the end
  const order = (what: object): void => void child.stdin.write(`${JSON.stringify(what)}\n`)
  const shown = (): string => rowsOf(terminal).join('\n')
  return {
    rows: () => rowsOf(terminal),
    shows: async (what) => {
      await eventually(() => {
        const text = shown()
        const isShown = typeof what === 'string' ? text.includes(what) : what.test(text)
        if (!isShown) throw new Error(`the screen does not show ${String(what)}:\n${text}`)
      })
    },
    type: (keys) => order({ keys }),
    resize: (newRows, newColumns) => {
      terminal.resize(newColumns, newRows)
      order({ rows: newRows, columns: newColumns })
    },
    signal: (name) => order({ signal: name }),
    get written() {
      return written
    },
    get isFullScreen() {
      return terminal.buffer.active.type === 'alternate'
    },
    ended,
    [Symbol.asyncDispose]: async () => {
      child.stdin.end()
      await ended.catch(() => {})
      terminal.dispose()
    },
  }
}
