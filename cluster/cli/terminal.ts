/** Terminal: where the command line writes, and whether it supports colours and redrawing. */

export interface Terminal {
  /** Results: what the command was asked for. */
  out(text: string): void
  /** Everything else: progress, hints, errors. */
  err(text: string): void
  /** Whether `err` is a terminal that can be redrawn. */
  readonly isInteractive: boolean
  readonly outColors: boolean
  readonly errColors: boolean
  /** Width of `err` in characters. */
  readonly columns: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** The process's own streams. Colours only on a terminal, never with NO_COLOR (no-color.org) or TERM=dumb. */
export function processTerminal(environment: Environment): Terminal {
  const { stdout, stderr } = process
  // A reader that stops early (`| head`) is not an error.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0)
      throw error
    })
  }
  const mayColor = (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb'
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isInteractive: stderr.isTTY === true && environment['TERM'] !== 'dumb',
    outColors: stdout.isTTY === true && mayColor,
    errColors: stderr.isTTY === true && mayColor,
    columns: stderr.columns || 80, // some terminals say 0
  }
}

/** What the user types before a command's words. */
export type ProgramName = 'skiff' | 'kube-skiff' | 'kubectl skiff' | 'npx kube-skiff'

/**
 * How this process was started; `script` is the path that Node was given. With npx, the PATH may not contain `skiff`, and
 * `npx skiff` would run another package of that name.
 */
export function programName(script: string, environment: Environment): ProgramName {
  const typed = /([^/\\]*?)(?:\.js)?$/.exec(script)?.[1]
  if (typed === 'kubectl-skiff') return 'kubectl skiff'
  const isNpx =
    environment['npm_command'] === 'exec' && environment['npm_lifecycle_event'] === 'npx'
  if (isNpx) return 'npx kube-skiff'
  return typed === 'kube-skiff' ? typed : 'skiff'
}

/** The text with the command lines that it names as the user types them. */
export function asTyped(text: string, program: ProgramName): string {
  return text.replaceAll(/(?<![\w./-]|npx |kubectl )skiff (?=[a-zA-Z])/g, `${program} `)
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Style = keyof typeof codes

/** The text in that style when colours are on, else as it is. */
export function styled(text: string, style: Style, colors: boolean): string {
  return colors ? `\u001b[${codes[style]}m${text}\u001b[0m` : text
}

/** Rows in columns as wide as their longest cell, two spaces apart; the first row is the heading. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, cell.length)
    }
  }
  const line = (row: readonly string[]): string =>
    row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('')
}

/** `950 ms`, `1.2 s`, `3 min`, `5 h`, `2 d`. */
export function shortDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 100_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 2 * 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 2 * 86_400_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} d`
}

/** `950 B`, `12 KB`, `3.4 MB`. */
export function byteSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
