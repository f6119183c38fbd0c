/** Component: the life of one process, from its flags to its exit code. Every main.ts is one call of runComponent. */
import { fstatSync, writeSync } from 'node:fs'
import { systemClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { defineFlags, describeFlags, flag, FlagError, parseFlags } from './flags.ts'
import type { FlagDeclarations, FlagValues } from './flags.ts'
import { createLog, messageOf } from './log.ts'
import type { Log, LogLevel } from './log.ts'
import { createLogWriter } from './log-writer.ts'

/** Flags every component has. */
export const commonFlags = defineFlags({
  config: flag.string(
    'File with flag values as a JSON object. Keep it 0600 when it holds secrets.',
  ),
  'log-level': flag.string('Least level that is logged.', 'info', {
    choices: ['debug', 'info', 'warn', 'error'],
  }),
  v: flag.int('Log verbosity; 4 and above logs everything.', 0),
  'deprecation-warnings': flag.bool('Log a warning for each deprecated flag that is given.', true),
  help: flag.bool('Show this help.', false),
})

export interface ComponentContext<D extends FlagDeclarations> {
  readonly options: FlagValues<D & typeof commonFlags>
  /** Aborts on the first TERM or INT: finish what is in flight and return. */
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Log
  /** Why the newest lines of the log are not written; undefined when they are. */
  readonly logFault?: () => string | undefined
  /** Says once that the process serves; `info` (ports and the like, never a secret) goes to whoever started it. */
  ready(info?: Readonly<Record<string, unknown>>): void
}

export interface Component<D extends FlagDeclarations> {
  /** As in logs and in --help. */
  readonly name: string
  readonly description?: string
  /** Whole command lines for --help. */
  readonly examples?: readonly string[]
  readonly flags: D
  /** Serves until the signal aborts and everything has drained. Rejecting ends the process with code 1. */
  run(context: ComponentContext<D>): Promise<void>
}

/** A refusal to start whose message alone tells the user what to do; printed without a stack. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StartError'
  }
}

/** The channel to the starting process: descriptor 3, if it was handed one. */
function announce(info: Readonly<Record<string, unknown>>): void {
  try {
    // An event loop's own descriptors have no file type, so they are told apart from a pipe, socket or file.
    const stat = fstatSync(3)
    if (!stat.isFIFO() && !stat.isSocket() && !stat.isFile()) return
    writeSync(3, `${JSON.stringify({ ready: true, ...info })}\n`)
  } catch {
    // No descriptor 3, or nobody reads it any more: whoever started the process does not wait for this line.
  }
}

function helpText(component: Component<FlagDeclarations>, flags: FlagDeclarations): string {
  const examples = component.examples ?? []
  return [
    component.description === undefined ? '' : `${component.description}\n\n`,
    `Usage:\n  ${component.name} [flags]\n\n`,
    examples.length === 0 ? '' : `Examples:\n${examples.map((line) => `  ${line}\n`).join('')}\n`,
    `Flags:\n${describeFlags(flags)}`,
  ].join('')
}

/**
 * Runs a component as this process: flags, signals, the ready line on descriptor 3, and the exit code (0 clean, 1 failed,
 * 2 bad flags). A second signal exits at once; an unhandled rejection or exception is logged and exits with 1.
 */
export async function runComponent<D extends FlagDeclarations>(
  component: Component<D>,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  const flags = { ...component.flags, ...commonFlags }
  let options: FlagValues<D & typeof commonFlags>
  const warnings: string[] = []
  try {
    options = parseFlags(flags, args, (text) => warnings.push(text))
  } catch (error) {
    if (!(error instanceof FlagError)) throw error
    process.stderr.write(`${component.name}: ${error.message} (see --help)\n`)
    process.exit(2)
  }
  if ((options as FlagValues<typeof commonFlags>).help) {
    process.stdout.write(helpText(component, flags))
    return
  }

  const common = options as FlagValues<typeof commonFlags>
  const level = common.v >= 4 ? 'debug' : (common['log-level'] as LogLevel)
  const { write, fault: logFault } = createLogWriter(process.stderr, systemClock)
  const log = createLog({ clock: systemClock, level, fields: { component: component.name }, write })
  if (common['deprecation-warnings']) for (const text of warnings) log.warn(text)
  const stop = new AbortController()
  const onSignal = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) process.exit(1)
    log.info('stopping', { signal: name })
    stop.abort(new Error(`stopped by ${name}`))
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const onFault = (error: unknown): void => {
    log.error('unexpected fault; the process ends', { error })
    process.exit(1)
  }
  // A log line that finds no space is lost; serving goes on. With nobody left to read, the process is to end.
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(1)
  })
  // Started over a channel, it ends with whoever holds the other end; nobody reads its log then.
  process.on('disconnect', () => {
    if (stop.signal.aborted) return
    process.stderr.removeAllListeners('error').on('error', () => {})
    log.info('stopping', { why: 'the process that started it is gone' })
    stop.abort(new Error('the process that started it is gone'))
  })
  process.channel?.unref()
  process.on('unhandledRejection', onFault)
  process.on('uncaughtException', onFault)

  let isReady = false
  const ready = (info: Readonly<Record<string, unknown>> = {}): void => {
    if (isReady) return
    isReady = true
    log.info('ready', info)
    announce(info)
  }
  // A component that only waits must not end because nothing else is due.
  const alive = setInterval(() => {}, 2 ** 30)
  try {
    await component.run({
      options,
      signal: stop.signal,
      clock: systemClock,
      log,
      logFault,
      ready,
    })
    process.exitCode = 0
    if (stop.signal.aborted) log.info('stopped')
  } catch (error) {
    if (stop.signal.aborted && error === stop.signal.reason) {
      process.exitCode = 0
      return
    }
    if (!(error instanceof StartError || error instanceof FlagError)) log.error('failed', { error })
    process.stderr.write(`${component.name}: ${messageOf(error)}\n`)
    process.exit(error instanceof FlagError ? 2 : 1)
  } finally {
    clearInterval(alive)
    // Whatever a library left open must not keep a stopped process alive.
    setTimeout(() => process.exit(), 1000).unref()
  }
}
