/** Running the real command as a user does, with a state directory of its own for each test. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const bin = join(import.meta.dirname, '..', '..', 'bin', 'skiff.js')

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Skiff {
  /** The folder that XDG_STATE_HOME names. */
  readonly home: string
  /** Runs one command line and waits for its end. */
  run(...words: string[]): Promise<Outcome>
  /** Starts one and sends it a signal once it has written `text` to standard error. */
  interrupt(text: string, signal: NodeJS.Signals, ...words: string[]): Promise<Outcome>
  /** Processes that have this test's state directory in their command line. */
  processes(): { pid: number; command: string }[]
}

/** What is started here is taken down when the test ends, whatever became of it. */
export function createSkiff(): Skiff {
  const home = mkdtempSync(join(tmpdir(), 'skiff-e2e-'))
  const start = (words: readonly string[]) =>
    spawn(process.execPath, [bin, ...words], {
      env: { ...process.env, XDG_STATE_HOME: home, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const outcome = async (
    child: ReturnType<typeof start>,
    onError: (text: string) => void = () => {},
  ): Promise<Outcome> => {
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (data: unknown) => (stdout += String(data)))
    child.stderr.on('data', (data: unknown) => {
      stderr += String(data)
      onError(stderr)
    })
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { code, stdout, stderr }
  }
  const run = (...words: string[]): Promise<Outcome> => outcome(start(words))
  onTestFinished(async () => {
    await run('down', '--all')
    await rm(home, { recursive: true, force: true })
  })
  return {
    home,
    run,
    interrupt: (text, signal, ...words) => {
      const child = start(words)
      let isSent = false
      return outcome(child, (stderr) => {
        if (isSent || !stderr.includes(text)) return
        isSent = true
        child.kill(signal)
      })
    },
    processes: () =>
      readdirSync('/proc')
        .filter((entry) => /^\d+$/.test(entry))
        .flatMap((entry) => {
          try {
            const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ')
            return command.includes(home) ? [{ pid: Number(entry), command }] : []
          } catch {
            return [] // gone meanwhile
          }
        }),
  }
}
