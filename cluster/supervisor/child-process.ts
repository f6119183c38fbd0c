/** Child process: one process of the cluster, from spawn to its last breath. Its output goes to a file, so it outlives the parent unharmed. */
import { closeSync, fstatSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { execa } from 'execa'
import type { Clock } from '../../components/component-base/clock.ts'
import { readLines } from '../lines.ts'
import { keepLogBounded } from './log-rotation.ts'
import { lastLines, readableLine } from '../log-tail.ts'

export interface ChildOptions {
  /** How messages call it. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** Added to the parent's environment. */
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Standard output and error are appended to it; when it is full it is set aside. */
  readonly logFile: string
  /** Undefined: it may take as long as it needs. */
  readonly readyTimeoutMs?: number | undefined
  /** Since when nothing else keeps it from becoming ready; undefined: something does now, and its time does not run. */
  readonly unhinderedSinceMs?: () => number | undefined
  /** Hears the lines on the channel that do not say ready. */
  readonly onReport?: (report: ReadyLine) => void
  /** How long after TERM it is killed. */
  readonly stopTimeoutMs: number
}

export interface ChildExit {
  readonly code: number | undefined
  readonly signal: string | undefined
}

/**
 * What a child writes on file descriptor 3, one JSON object a line: `{"ready":true, ...}` once it serves, and before and
 * after that whatever else it wants known.
 */
type ReadyLine = Readonly<Record<string, unknown>>

export interface Child {
  /** Undefined when the spawn itself failed. */
  readonly pid: number | undefined
  /** Resolves with the ready line; rejects with a ChildStartError when the child exits first, or takes too long (it is then killed). */
  readonly ready: Promise<ReadyLine>
  /** Resolves when the process is gone; never rejects. */
  readonly exited: Promise<ChildExit>
  signal(signal: NodeJS.Signals): void
  /** TERM, then KILL after the stop timeout. Resolves when the process is gone; calling it again is the same call. */
  stop(): Promise<ChildExit>
}

/** Why a child did not become ready, with the last lines it logged in this run. */
export class ChildStartError extends Error {
  readonly reason: 'spawn' | 'exit' | 'timeout'
  readonly tail: readonly string[]

  constructor(
    reason: 'spawn' | 'exit' | 'timeout',
    message: string,
    more: { tail: readonly string[]; cause?: unknown },
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'ChildStartError'
    this.reason = reason
    this.tail = more.tail
  }
}

const tailLines = 15

function describeExit({ code, signal }: ChildExit): string {
  return signal === undefined ? `exited with code ${code ?? 'unknown'}` : `was ended by ${signal}`
}

/** Starts a process. Every way it can go wrong arrives by `ready` and `exited`; this function itself does not throw for it. */
export function startChild(options: ChildOptions, clock: Clock): Child {
  const { name } = options
  const leaveLog = keepLogBounded(options.logFile, clock)
  const log = openSync(options.logFile, 'a', 0o600)
  const logStart = fstatSync(log).size
  // execa's types know only the standard descriptors; the system takes any.
  const output = log as 1
  const subprocess = execa(options.command, options.args, {
    stdio: ['ignore', output, output, 'pipe'],
    env: options.environment ?? {},
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    reject: false,
    buffer: false,
    cleanup: false,
  })
  closeSync(log)
  const tail = (): string[] =>
    lastLines(options.logFile, tailLines, logStart).map((line) => readableLine(line))

  let spawnError: Error | undefined
  const exited = subprocess.then((result): ChildExit => {
    leaveLog()
    if (result.exitCode === undefined && result.signal === undefined) {
      spawnError = new Error(result.originalMessage ?? 'unknown reason', { cause: result.cause })
    }
    return { code: result.exitCode, signal: result.signal }
  })

  const firstLine = new Promise<ReadyLine>((resolve) => {
    // execa types descriptors above 2 by their exact options; this one is a readable pipe, or nothing if the spawn failed.
    const pipe = (subprocess.stdio as readonly unknown[])[3] as Readable | null | undefined
    if (pipe === null || pipe === undefined) return
    // When the channel ends without the line, the child's exit tells more.
    void readLines(pipe, (line) => {
      const parsed = parseLine(line)
      if (parsed?.['ready'] === true) resolve(parsed)
      else if (parsed !== undefined) options.onReport?.(parsed)
    })
  })

  const waiting = new AbortController()
  const never = new Promise<never>(() => {})
  const { readyTimeoutMs } = options
  /** Resolves when it has had its whole time, without a hindrance, and is not ready. */
  const outOfTime = async (limitMs: number): Promise<'timeout'> => {
    const startedMs = clock.now()
    for (let leftMs = limitMs; leftMs > 0;) {
      await clock.sleep(leftMs, waiting.signal)
      const since =
        options.unhinderedSinceMs === undefined ? startedMs : options.unhinderedSinceMs()
      const ownMs = since === undefined ? 0 : clock.now() - Math.max(since, startedMs)
      leftMs = limitMs - ownMs
    }
    return 'timeout'
  }
  const timedOut =
    readyTimeoutMs === undefined ? never : outOfTime(readyTimeoutMs).catch(() => never) // the race is over
  const race = async (): Promise<ReadyLine> => {
    try {
      const first = await Promise.race([
        firstLine.then((line) => ({ line })),
        exited.then((exit) => ({ exit })),
        timedOut,
      ])
      if (first === 'timeout') {
        const lines = tail()
        subprocess.kill('SIGKILL')
        const message = `${name} was not ready after ${(readyTimeoutMs ?? 0) / 1000} s`
        throw new ChildStartError('timeout', message, { tail: lines })
      }
      if ('line' in first) return first.line
      if (spawnError !== undefined) {
        const message = `${name} could not be started: ${spawnError.message}`
        throw new ChildStartError('spawn', message, { tail: [], cause: spawnError })
      }
      const message = `${name} ${describeExit(first.exit)} before it was ready`
      throw new ChildStartError('exit', message, { tail: tail() })
    } finally {
      waiting.abort()
    }
  }
  const ready = race()
  ready.catch(() => {}) // whoever waits for it gets the error; nobody has to wait

  let stopping: Promise<ChildExit> | undefined
  const stop = async (): Promise<ChildExit> => {
    subprocess.kill('SIGTERM')
    subprocess.kill('SIGCONT') // a stopped process sees no TERM
    const cancel = clock.after(options.stopTimeoutMs, () => subprocess.kill('SIGKILL'))
    const exit = await exited
    cancel()
    return exit
  }
  return {
    pid: subprocess.pid,
    ready,
    exited,
    signal: (signal) => void subprocess.kill(signal),
    stop: () => (stopping ??= stop()),
  }
}

function parseLine(line: string): ReadyLine | undefined {
  try {
    const parsed: unknown = JSON.parse(line)
    return typeof parsed === 'object' && parsed !== null ? (parsed as ReadyLine) : undefined
  } catch {
    return undefined // not a line of ours
  }
}
