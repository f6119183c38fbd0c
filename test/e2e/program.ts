/** Running a program to its end. */
import { execFile } from 'node:child_process'

export interface Outcome {
  /** null or -1: it was ended by a signal. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Ends with the program or after `timeoutMs`, whatever comes first; never rejects. */
export function run(
  program: string,
  words: readonly string[],
  options: {
    env?: NodeJS.ProcessEnv
    cwd?: string
    /** Windows runs scripts such as npm in a shell only; their words are quoted then. */
    shell?: boolean
    timeoutMs: number
    input?: string
  },
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      words,
      {
        env: options.env,
        cwd: options.cwd,
        shell: options.shell ?? false,
        timeout: options.timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        const isLate = error !== null && error.killed === true
        const note = isLate ? `\n(killed: it ran for longer than ${options.timeoutMs} ms)` : ''
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        resolve({ code, stdout, stderr: `${stderr}${note}` })
      },
    )
    child.stdin?.on('error', () => {}) // it ended without reading its input
    child.stdin?.end(options.input ?? '')
  })
}
