/** Component: the life of one process, from its flags to its exit code. Every main.ts is one call of runComponent. */
import { systemClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { serveCommands } from './command-channel.ts'
import { Commands, pulseCommand } from './commands.ts'
import { environment } from './environment.ts'
import { defineFlags, describeFlags, flag, FlagError, parseFlags } from './flags.ts'
import type { FlagDeclarations, FlagValues } from './flags.ts'
import { createLog, messageOf } from './log.ts'
import type { Files } from './files.ts'
import type { LocalNetwork } from './local-network.ts'
import type { Log, LogLevel } from './log.ts'
import { createLogWriter } from './log-writer.ts'
import { networkOfProcess, routesVariable } from './routes.ts'
import { writeStatusLine } from './status-line.ts'
import { FollowedClock } from './followed-clock.ts'
import type { Suspension } from './suspension.ts'
import { followTime, givenTime, timeVariable } from './time-commands.ts'
import { UnderWay } from './under-way.ts'

/** Flags every component has. */
export const commonFlags = defineFlags({
  config: flag.string(
    'File with flag values as a JSON object. Keep it 0600 when it holds secrets.',
  ),
  'log-level': flag.string('Lowest level that is logged.', 'info', {
    choices: ['debug', 'info', 'warn', 'error'],
  }),
  v: flag.int('Log verbosity; 4 and above logs everything.', 0),
  'deprecation-warnings': flag.bool(
    'Log a warning for each deprecated flag on the command line.',
    true,
  ),
  help: flag.bool('Show this help.', false),
})

export interface ComponentContext<D extends FlagDeclarations> {
  readonly options: FlagValues<D & typeof commonFlags>
  /** Aborts on the first TERM or INT: finish what is in flight and return. */
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Log
  /** Default: the disk's. */
  readonly files?: Files
  /** Servers of this process; by default none. */
  readonly network?: LocalNetwork
  /** What a clock waits for that is advanced; by default nothing is counted. */
  readonly underWay?: UnderWay
  /** What the process that started this one can ask of it; by default nothing. */
  readonly commands?: Commands
  /** How long listeners wait for requests under way when they end; by default as long as they do. */
  readonly drainMs?: number
  /** How it is paused and killed where it shares its process. */
  readonly suspension?: Suspension | undefined
  /** Why the newest lines of the log are not written; undefined when they are. */
  readonly logFault?: () => string | undefined
  /** Reports once that the process serves; `info` (ports and the like, never a secret) goes to the starting process. */
  ready(info?: Readonly<Record<string, unknown>>): void
}

/** How a component is started: what --help shows. */
export interface ComponentDeclaration<D extends FlagDeclarations> {
  /** As in logs and in --help. */
  readonly name: string
  readonly description?: string
  /** Whole command lines for --help. */
  readonly examples?: readonly string[]
  readonly flags: D
  /** Its clock is the system's whatever the cluster's is. */
  readonly isOutsideTime?: boolean
}

export interface Component<D extends FlagDeclarations> extends ComponentDeclaration<D> {
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

/** The system's code of an error or of what caused it: EADDRINUSE. */
function systemCodeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, syscall } = at as NodeJS.ErrnoException
    if (code !== undefined && syscall !== undefined) return code
  }
  return undefined
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
  // A component may declare a common flag in its own way.
  const flags = { ...component.flags, ...commonFlags, ...component.flags }
  const warnings: string[] = []
  const options = parseOrExit(component.name, flags, { args, warnings })
  const common = options as FlagValues<typeof commonFlags>
  if (common.help) {
    process.stdout.write(helpText(component, flags))
    return
  }
  const level = common.v >= 4 ? 'debug' : (common['log-level'] as LogLevel)
  const commands = new Commands()
  const { clock, underWay } = timeOf(component, commands)
  const network = networkOfProcess(commands, environment[routesVariable])
  const { write, fault: logFault } = createLogWriter(process.stderr, systemClock)
  const log = createLog({ clock, level, fields: { component: component.name }, write })
  if (common['deprecation-warnings']) for (const text of warnings) log.warn(text)
  const signal = followProcess(log)
  // A component that only waits must not end because nothing else is due.
  const alive = setInterval(() => {}, 2 ** 30)
  try {
    const ready = readyOnce(log)
    await mayStart(commands, signal)
    signal.addEventListener('abort', () => clock.release(), { once: true })
    const parts = { clock, underWay, network, commands, log, logFault }
    await component.run({ options, signal, ...parts, ready })
    process.exitCode = 0
    if (signal.aborted) log.info('stopped')
  } catch (error) {
    if (signal.aborted && error === signal.reason) {
      process.exitCode = 0
      return
    }
    if (!(error instanceof StartError || error instanceof FlagError)) log.error('failed', { error })
    process.stderr.write(`${component.name}: ${messageOf(error)}\n`)
    const systemCode = systemCodeOf(error)
    if (systemCode !== undefined) writeStatusLine({ failed: true, systemCode })
    process.exit(error instanceof FlagError ? 2 : 1)
  } finally {
    clearInterval(alive)
    // A timer or socket that a library left open must not keep a stopped process alive.
    setTimeout(() => process.exit(), 1000).unref()
  }
}

/** Real time, for a component that follows no cluster's clock and for one that was started without a setting. */
function timeOf(
  { isOutsideTime = false }: ComponentDeclaration<FlagDeclarations>,
  commands: Commands,
) {
  const underWay = new UnderWay(systemClock)
  if (isOutsideTime) return { clock: new FollowedClock(systemClock), underWay }
  const clock = new FollowedClock(systemClock, givenTime(environment[timeVariable]))
  followTime(commands, { clock, underWay })
  return { clock, underWay }
}

function parseOrExit<D extends FlagDeclarations>(
  name: string,
  flags: D,
  { args, warnings }: { readonly args: readonly string[]; readonly warnings: string[] },
): FlagValues<D> {
  try {
    return parseFlags(flags, args, (text) => warnings.push(text))
  } catch (error) {
    if (!(error instanceof FlagError)) throw error
    process.stderr.write(`${name}: ${error.message} (see --help)\n`)
    return process.exit(2)
  }
}

/** Gives a signal that aborts when the process is to stop, and ends the process on an unexpected fault. */
function followProcess(log: Log): AbortSignal {
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
  // A log line that finds no space is lost, and serving goes on. A closed pipe ends the process: its reader is gone.
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(1)
  })
  // A process that was started over a channel ends with the other end, which also read its log.
  process.on('disconnect', () => {
    if (stop.signal.aborted) return
    process.stderr.removeAllListeners('error').on('error', () => {})
    const why = 'the process that started it asks for it, or is gone'
    log.info('stopping', { why })
    stop.abort(new Error(why))
  })
  process.channel?.unref()
  process.on('unhandledRejection', onFault)
  process.on('uncaughtException', onFault)
  return stop.signal
}

/** Set for a process that loads its code ahead of time; the command `start` then starts the component. */
export const startsWhenToldVariable = 'SKIFF_STARTS_WHEN_TOLD'

/** Begins to serve commands. Rejects with `signal.reason`, or when the process that would say so is gone. */
async function mayStart(commands: Commands, signal: AbortSignal): Promise<void> {
  const told = Promise.withResolvers<void>()
  commands.on('start', async () => told.resolve())
  commands.on(pulseCommand, async () => {})
  const gone = (): void => told.reject(new StartError('the process that started it is gone'))
  const isReachable = serveCommands(commands, gone)
  told.promise.catch(() => {}) // once it has started, it goes on alone
  if (environment[startsWhenToldVariable] !== '1' || !isReachable) return
  signal.addEventListener('abort', () => told.reject(signal.reason as Error), { once: true })
  await told.promise
}

/** The `ready` of a component's context. */
function readyOnce(log: Log): ComponentContext<FlagDeclarations>['ready'] {
  let isReady = false
  return (info = {}) => {
    if (isReady) return
    isReady = true
    log.info('ready', info)
    writeStatusLine({ ready: true, ...info })
  }
}
