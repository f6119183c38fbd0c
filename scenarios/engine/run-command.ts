/** Runs a command to its end and checks its outcome, for the steps that run one. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { described, integer, object, optional, scalar } from '../../cluster/shape.ts'
import type { ShapeType } from '../../cluster/shape.ts'
import { describeEnd, startProcess } from './kept-process.ts'
import type { ProcessEnd, ProcessOptions } from './kept-process.ts'
import { AssertionFailure } from './assertion-failure.ts'
import type { StepContext } from './step.ts'

export const outcomeShape = object({
  exitCode: described('Expected exit code. Default: 0.', optional(integer)),
  stdout: described('Text that standard output must contain.', optional(scalar)),
  stderr: described('Text that standard error must contain.', optional(scalar)),
})

export interface CommandOutcome {
  readonly end: ProcessEnd
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions extends Pick<ProcessOptions, 'command' | 'env' | 'cwd'> {
  readonly input?: string | undefined
  /** Aborting ends the command with its whole group. */
  readonly signal: AbortSignal
}

/** Runs the command, and ends its whole process group afterwards. Rejects with `signal.reason`. */
export async function runCommand(
  options: CommandOptions,
  { cluster, clock }: Pick<StepContext, 'cluster' | 'clock'>,
): Promise<CommandOutcome> {
  const { input, signal } = options
  signal.throwIfAborted()
  const stem = join(cluster.files.logs, `.command-${clock.uuid()}`)
  const [inputFile, outputFile, errorFile] = ['in', 'out', 'err'].map(
    (name) => `${stem}.${name}`,
  ) as [string, string, string]
  writeFileSync(inputFile, input ?? '', { mode: 0o600 })
  try {
    const running = startProcess({ ...options, inputFile, outputFile, errorFile }, cluster)
    const stop = (): void => void running.end()
    signal.addEventListener('abort', stop, { once: true })
    const end = await running.ended
    signal.removeEventListener('abort', stop)
    signal.throwIfAborted()
    const [stdout, stderr] = [outputFile, errorFile].map((file) => readFileSync(file, 'utf8')) as [
      string,
      string,
    ]
    return { end, stdout, stderr }
  } finally {
    for (const file of [inputFile, outputFile, errorFile]) rmSync(file, { force: true })
  }
}

const mostLines = 20
const firstLines = (text: string): string[] => text.trimEnd().split('\n').slice(0, mostLines)

/** Throws an AssertionFailure for an unexpected outcome. */
export function checkOutcome(
  what: string,
  { end, stdout, stderr }: CommandOutcome,
  expected: ShapeType<typeof outcomeShape> = {},
): void {
  const { exitCode = 0, stdout: wantedOut, stderr: wantedErr } = expected
  const code = end.kind === 'ended' ? end.code : undefined
  const isGood =
    code === exitCode &&
    (wantedOut === undefined || stdout.includes(wantedOut)) &&
    (wantedErr === undefined || stderr.includes(wantedErr))
  if (isGood) return
  throw new AssertionFailure({
    message: `${what} had another outcome than expected`,
    expected: [
      `exit code ${exitCode}`,
      ...(wantedOut === undefined ? [] : [`output that contains: ${wantedOut}`]),
      ...(wantedErr === undefined ? [] : [`errors that contain: ${wantedErr}`]),
    ],
    actual: [`it ${describeEnd(end)}`, ...firstLines(stdout), ...firstLines(stderr)].filter(
      (line) => line !== '',
    ),
  })
}
