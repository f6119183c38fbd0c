/** Child process: one process of the cluster, from spawn to exit. Its output goes to a file, so it can outlive its parent. */
import { closeSync, fstatSync, openSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { execa } from 'execa'
import type { Clock } from '../../components/component-base/clock.ts'
import { readStatusLines } from '../lines.ts'
import type { StatusLine } from '../lines.ts'
import { ChildCommands } from './child-commands.ts'
import { keepLogBounded } from './log-rotation.ts'
import { lastLines, readableLine } from '../log-tail.ts'
import type { ProcessControl } from './process-control.ts'
import { untilHealthy } from './until-healthy.ts'

export interface ChildOptions {
  /** Its name in messages. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** Added to the parent's environment; undefined takes a variable away. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** Receives standard output and error; rotated when it is full (log-rotation.ts). */
  readonly logFile: string
  /** Answers 200 over plain HTTP once the process is ready. Absent: it writes a ready line. */
  readonly healthUrl?: string
  /** Undefined: no limit. */
  readonly readyTimeoutMs?: number | undefined
  /** Since when no dependency keeps it from becoming ready, in milliseconds since the epoch; undefined while one does: the ready timeout does not run then. */
  readonly unhinderedSinceMs?: () => number | undefined
  /** Called with each line on the channel other than the ready line. */
  readonly onReport?: (report: ReadyLine) => void
  /** Default: `signal`. */
  readonly stopBy?: ProcessControl['stopBy']
  /** Time between the request to stop and KILL. */
  readonly stopTimeoutMs: number
}

export interface ChildExit {
  readonly code: number | undefined
  readonly signal: string | undefined
}

/**
 * A JSON line that a child writes on file descriptor 3: `{"ready":true, ...}` once it serves, `{"failed":true,"systemCode":...}`
 * before it exits, and any other report.
 */
export type ReadyLine = StatusLine

export interface Child {
  /** Undefined when the spawn itself failed. */
  readonly pid: number | undefined
  /** Resolves with the ready line; rejects with a ChildStartError when the child exits first or exceeds the ready timeout, which also kills it. */
  readonly ready: Promise<ReadyLine>
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ChildExit>
  signal(signal: NodeJS.Signals): void
  /** Its answer to a command. Rejects with a CommandError when it has no such command, refuses it, or ends before it answers. */
  command(name: string, params: unknown): Promise<unknown>
  /** Asks it to stop, and sends KILL after the stop timeout. Resolves when the process has ended; a second call returns the same promise. */
  stop(): Promise<ChildExit>
}

/** Why a child did not become ready, with the last lines it logged in this run. */
export class ChildStartError extends Error {
  readonly reason: 'spawn' | 'exit' | 'timeout'
  readonly tail: readonly string[]
  /** The system's code that the child reported before it exited. */
  readonly systemCode: string | undefined

  constructor(
    reason: 'spawn' | 'exit' | 'timeout',
    message: string,
    more: { tail: readonly string[]; systemCode?: string | undefined; cause?: unknown },
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'ChildStartError'
    this.reason = reason
    this.tail = more.tail
    this.systemCode = more.systemCode
  }
}

const tailLines = 15

function describeExit({ code, signal }: ChildExit): string {
  return signal === undefined ? `exited with code ${code ?? 'unknown'}` : `was ended by ${signal}`
}

type Subprocess = ReturnType<typeof spawn>

function spawn(options: ChildOptions, log: number) {
  // execa's types know only the standard descriptors; the system takes any.
  const output = log as 1
  return execa(options.command, options.args, {
    stdio: ['ignore', output, output, 'pipe'],
    ipc: options.stopBy === 'channel',
    windowsHide: true,
    env: options.environment ?? {},
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    reject: false,
    buffer: false,
    cleanup: false,
  })
}

interface Ending {
  readonly exit: ChildExit
  /** Set when the process could not be spawned. */
  readonly spawnError: Error | undefined
}

async function endingOf(subprocess: Subprocess): Promise<Ending> {
  const { exitCode, signal, originalMessage, cause } = await subprocess
  const spawnError =
    exitCode === undefined && signal === undefined
      ? new Error(originalMessage ?? 'unknown reason', { cause })
      : undefined
  return { exit: { code: exitCode, signal }, spawnError }
}

interface Channel {
  /** Never resolves when the channel ends without the line: the exit then tells more. */
  readonly readyLine: Promise<ReadyLine>
  /** Resolves at the end of the channel, with the system's code if the child reported one. */
  readonly systemCode: Promise<string | undefined>
}

/** execa types descriptors above 2 by their exact options; this one goes both ways, and is missing if the spawn failed. */
function pipeOf(subprocess: Subprocess): Duplex | undefined {
  return ((subprocess.stdio as readonly unknown[])[3] ?? undefined) as Duplex | undefined
}

function channelOf(
  subprocess: Subprocess,
  commands: ChildCommands,
  onReport: ChildOptions['onReport'],
): Channel {
  const readyLine = Promise.withResolvers<ReadyLine>()
  let systemCode: string | undefined
  const onStatus = (status: ReadyLine): void => {
    if (commands.take(status)) return
    if (status['ready'] === true) readyLine.resolve(status)
    else if (status['failed'] === true) systemCode = String(status['systemCode'])
    else onReport?.(status)
  }
  const pipe = pipeOf(subprocess)
  const ended = pipe === undefined ? Promise.resolve() : readStatusLines(pipe, onStatus)
  return { readyLine: readyLine.promise, systemCode: ended.then(() => systemCode) }
}

/** Resolves once the child has had its whole ready timeout without a hindrance; rejects with `signal.reason`. */
async function outOfTime(
  { readyTimeoutMs: limitMs, unhinderedSinceMs }: ChildOptions,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<'timeout'> {
  if (limitMs === undefined) return await new Promise<never>(() => {})
  const startedMs = clock.now()
  for (let leftMs = limitMs; leftMs > 0;) {
    await clock.sleep(leftMs, signal)
    const since = unhinderedSinceMs === undefined ? startedMs : unhinderedSinceMs()
    const ownMs = since === undefined ? 0 : clock.now() - Math.max(since, startedMs)
    leftMs = limitMs - ownMs
  }
  return 'timeout'
}

/** Resolves with the ready line; rejects with a ChildStartError when the process ends or runs out of time before it. */
async function readyOf(
  subprocess: Subprocess,
  more: {
    readonly options: ChildOptions
    readonly clock: Clock
    readonly commands: ChildCommands
    readonly ending: Promise<Ending>
    readonly tail: () => string[]
  },
): Promise<ReadyLine> {
  const { options, clock, commands, ending, tail } = more
  const { name, readyTimeoutMs = 0 } = options
  const waiting = new AbortController()
  const never = new Promise<never>(() => {})
  const channel = channelOf(subprocess, commands, options.onReport)
  const { healthUrl } = options
  const readyLine =
    healthUrl === undefined
      ? channel.readyLine
      : untilHealthy(healthUrl, clock, waiting.signal).then(
          () => ({}),
          () => never,
        )
  try {
    const first = await Promise.race([
      readyLine.then((line) => ({ line })),
      ending,
      outOfTime(options, { clock, signal: waiting.signal }).catch(() => never), // the race is over
    ])
    if (first === 'timeout') {
      const lines = tail()
      subprocess.kill('SIGKILL')
      const message = `${name} was not ready after ${readyTimeoutMs / 1000} s`
      throw new ChildStartError('timeout', message, { tail: lines })
    }
    if ('line' in first) return first.line
    const { exit, spawnError } = first
    if (spawnError !== undefined) {
      const message = `cannot start ${name}: ${spawnError.message}`
      throw new ChildStartError('spawn', message, { tail: [], cause: spawnError })
    }
    const message = `${name} ${describeExit(exit)} before it was ready`
    const systemCode = await channel.systemCode
    throw new ChildStartError('exit', message, { tail: tail(), systemCode })
  } finally {
    waiting.abort()
  }
}

/** A request to stop, then KILL after the stop timeout. */
async function stopped(
  subprocess: Subprocess,
  more: {
    readonly exited: Promise<ChildExit>
    readonly stopBy: ProcessControl['stopBy']
    readonly timeoutMs: number
    readonly clock: Clock
  },
): Promise<ChildExit> {
  const { exited, stopBy, timeoutMs, clock } = more
  if (stopBy === 'channel') {
    const { nodeChildProcess: child } = subprocess
    if (child.connected) child.disconnect()
  } else {
    subprocess.kill('SIGTERM')
    subprocess.kill('SIGCONT') // a stopped process does not receive TERM
  }
  const cancel = clock.after(timeoutMs, () => subprocess.kill('SIGKILL'))
  const exit = await exited
  cancel()
  return exit
}

/** Starts a process. Does not throw for a process that fails: `ready` and `exited` report every failure. */
export function startChild(options: ChildOptions, clock: Clock): Child {
  const { logFile, stopTimeoutMs: timeoutMs, stopBy = 'signal' } = options
  const leaveLog = keepLogBounded(logFile, clock)
  const log = openSync(logFile, 'a', 0o600)
  const logStart = fstatSync(log).size
  const subprocess = spawn(options, log)
  closeSync(log)
  const tail = (): string[] => lastLines(logFile, tailLines, logStart).map(readableLine)
  const ending = endingOf(subprocess)
  const commands = new ChildCommands(options.name, pipeOf(subprocess))
  const exited = ending.then(({ exit }) => {
    commands.end()
    leaveLog()
    return exit
  })
  const ready = readyOf(subprocess, { options, clock, commands, ending, tail })
  ready.catch(() => {}) // a caller that waits for it gets the error; none has to wait
  let stopping: Promise<ChildExit> | undefined
  return {
    pid: subprocess.pid,
    ready,
    exited,
    signal: (signal) => void subprocess.kill(signal),
    command: (name, params) => commands.call(name, params),
    stop: () => (stopping ??= stopped(subprocess, { exited, stopBy, timeoutMs, clock })),
  }
}
