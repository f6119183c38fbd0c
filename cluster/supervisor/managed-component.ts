/** Managed component: keeps one process of the cluster running until it is stopped. */
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { Log } from '../../components/component-base/log.ts'
import { ChildStartError } from './child-process.ts'
import type { Child, ChildExit, ReadyLine } from './child-process.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ComponentState, ComponentStatus } from '../control-protocol.ts'
import type { ComponentSpec } from '../plan/component-spec.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import type { ProcessControl } from './process-control.ts'
import { decideRestart } from './restart-policy.ts'

export interface ManagedComponent {
  readonly spec: ComponentSpec
  status(): ComponentStatus
  /** Spawns the process that the next `start` starts, so that it loads its code meanwhile. The state stays; a failure shows in `start`. */
  prepare(): void
  /** Resolves when it is ready. Rejects with a ClusterError that holds its last log lines when this first start fails. */
  start(): Promise<void>
  /** Resolves when the process has ended; it is not started again before `start`. */
  stop(): Promise<void>
  /** Sends a signal to the process. Throws a ClusterError of kind `not-running` when none runs; so do `pause`, `resume` and `kill`. */
  signal(signal: NodeJS.Signals): void
  /** Reports that the process has answered nothing since then: ready becomes stuck. */
  silent(sinceMs: number, why: string): void
  /** Reports that the process answers: stuck becomes ready. */
  answers(): void
  pause(): void
  resume(): void
  /** Sends SIGKILL; resolves when that process has ended. */
  kill(): Promise<void>
  /** The answer of the running process to a command. Rejects with a CommandError, or with a ClusterError when none runs. */
  command(name: string, params: unknown): Promise<unknown>
}

export interface ManagedComponentOptions {
  /** Name of the cluster. */
  readonly cluster: string
  readonly spec: ComponentSpec
  readonly clock: Clock
  readonly log: Log
  readonly processControl: ProcessControl
  /** Spawns one run of the component. */
  readonly spawn: (how: {
    readonly onReport: (report: ReadyLine) => void
    /** It waits for the command `start`. */
    readonly startsWhenTold: boolean
    /** It takes the place of a run that ended by itself. */
    readonly isRestart: boolean
  }) => Child
  /** Why it cannot become ready yet: the component that it waits for. */
  readonly waitsFor: () => string | undefined
  readonly onChange: (status: ComponentStatus) => void
  /** The command line that prints the program's flags. */
  readonly helpLine: string
}

/** One line of an agent's join progress: step, state and reason. */
function reportText(report: Readonly<Record<string, unknown>>): string {
  const { step, state, reason } = report
  return [`${String(step)} ${String(state)}`, ...(typeof reason === 'string' ? [reason] : [])].join(
    ': ',
  )
}

/** A program that refuses to start logs the reason as its last line, `program: reason`. */
function describeFailure(
  { spec, helpLine }: ManagedComponentOptions,
  error: unknown,
): ClusterError {
  if (!(error instanceof ChildStartError)) {
    return new ClusterError('failed', messageOf(error), { cause: error })
  }
  const { reason, tail, message, systemCode } = error
  const last = tail.at(-1) ?? ''
  const prefix = `${spec.program}: `
  if (reason !== 'exit' || !last.startsWith(prefix)) {
    const details = tail.length > 0 ? tail : ['it logged nothing; check whether the disk is full']
    return new ClusterError('failed', message, { details, systemCode, cause: error })
  }
  const pointer = ' (see --help)'
  const why = `${spec.name} did not start: ${last.slice(prefix.length).replace(pointer, '')}`
  const hint = last.endsWith(pointer) ? `see its flags: ${helpLine}` : undefined
  return new ClusterError('failed', why, { hint, systemCode, cause: error })
}

/** What a run adds to the status; a new run begins without it. */
interface Run {
  readonly child: Child
  info: Readonly<Record<string, unknown>> | undefined
}

class Managed implements ManagedComponent {
  readonly spec: ComponentSpec
  readonly #options: ManagedComponentOptions
  #state: ComponentState = 'waiting'
  #sinceMs: number
  #message: string | undefined
  #run: Run | undefined
  /** The run that waits for the next start. */
  #prepared: Run | undefined
  #restarts = 0
  #crashes = 0
  /** Aborts when the component is no longer wanted. */
  #wanted: AbortController | undefined
  // A second caller waits for the start or stop of the first: two runs never overlap.
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined

  constructor(options: ManagedComponentOptions) {
    this.spec = options.spec
    this.#options = options
    this.#sinceMs = options.clock.now()
  }

  status(): ComponentStatus {
    const { name, program } = this.spec
    const { child, info } = this.#run ?? {}
    const message =
      this.#message ?? (this.#state === 'starting' ? this.#options.waitsFor() : undefined)
    return {
      name,
      program,
      state: this.#state,
      restarts: this.#restarts,
      sinceMs: this.#sinceMs,
      ...(child?.pid === undefined ? {} : { pid: child.pid }),
      ...(info === undefined ? {} : { info }),
      ...(message === undefined ? {} : { message }),
    }
  }

  prepare(): void {
    if (this.#wanted === undefined && this.#run === undefined)
      this.#prepared = this.#spawn({ startsWhenTold: true, isRestart: false })
  }

  async start(): Promise<void> {
    while (this.#stopping !== undefined) await this.#stopping
    if (this.#wanted === undefined) this.#starting = this.#begin()
    await this.#starting
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#end().finally(() => {
      this.#stopping = undefined
    }))
  }

  signal(signal: NodeJS.Signals): void {
    this.#running().signal(signal)
  }

  silent(sinceMs: number, why: string): void {
    if (this.#state === 'ready') this.#enter('stuck', why, sinceMs)
  }

  answers(): void {
    if (this.#state === 'stuck') this.#enter('ready')
  }

  pause(): void {
    this.#checkPausable()
    this.signal('SIGSTOP')
    this.#enter('paused')
  }

  resume(): void {
    this.#checkPausable()
    this.signal('SIGCONT')
    if (this.#state === 'paused') this.#enter(this.#run?.info === undefined ? 'starting' : 'ready')
  }

  async kill(): Promise<void> {
    const child = this.#running()
    child.signal('SIGKILL')
    await child.exited
  }

  async command(name: string, params: unknown): Promise<unknown> {
    return await this.#running().command(name, params)
  }

  #checkPausable(): void {
    if (this.#options.processControl.canPause) return
    const { name } = this.spec
    throw new ClusterError('usage', `${name} cannot be paused: Windows has no SIGSTOP`, {
      hint: `kill it instead: skiff fault kill ${name}${nameFlagOf(this.#options.cluster)}`,
    })
  }

  #running(): Child {
    if (this.#run !== undefined) return this.#run.child
    const { name } = this.spec
    throw new ClusterError('not-running', `${name} is not running`, {
      hint: `start it with: skiff restart ${name}${nameFlagOf(this.#options.cluster)}`,
    })
  }

  #enter(state: ComponentState, message?: string, sinceMs = this.#options.clock.now()): void {
    this.#state = state
    this.#sinceMs = sinceMs
    this.#message = message
    this.#options.onChange(this.status())
  }

  #spawn(how: { readonly startsWhenTold: boolean; readonly isRestart: boolean }): Run {
    const onReport = (report: ReadyLine): void => {
      if (this.#run !== run || this.#state === 'paused') return
      this.#message = reportText(report)
      this.#options.onChange(this.status())
    }
    const run: Run = { child: this.#options.spawn({ onReport, ...how }), info: undefined }
    this.#run = run
    return run
  }

  /** One run until it is ready; `#run` is set even when this rejects. */
  async #launch(isRestart: boolean): Promise<Child> {
    const prepared = this.#prepared
    this.#prepared = undefined
    // If it has ended meanwhile, so has its promise to become ready.
    prepared?.child.command('start', {}).catch(() => {})
    const run = prepared ?? this.#spawn({ startsWhenTold: false, isRestart })
    this.#enter('starting')
    const { child } = run
    const { ready: _, ...info } = await child.ready
    run.info = info
    this.#enter('ready')
    return child
  }

  async #begin(): Promise<void> {
    const { log } = this.#options
    const { name } = this.spec
    const wanted = new AbortController()
    this.#wanted = wanted
    this.#crashes = 0
    try {
      const child = await this.#launch(false)
      this.#keepRunning(child, wanted.signal).catch((error: unknown) => {
        log.error('component is no longer supervised', { name, error })
        this.#enter('failed', String(error))
      })
    } catch (error) {
      await this.#run?.child.exited
      this.#run = undefined
      if (wanted.signal.aborted) {
        throw new ClusterError('failed', `${name} was stopped before it was ready`)
      }
      this.#wanted = undefined
      const failure = describeFailure(this.#options, error)
      this.#enter('failed', failure.message)
      throw failure
    }
  }

  /** Waits for the end of a run and starts the next one, until the component is no longer wanted. */
  async #keepRunning(first: Child, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const { name } = this.spec
    let child: Child | undefined = first
    let readyAtMs: number | undefined = clock.now()
    for (;;) {
      const exit = (await child?.exited) ?? { code: undefined, signal: undefined }
      if (signal.aborted || !(await this.#backOff(exit, readyAtMs, signal))) return
      this.#restarts += 1
      readyAtMs = undefined
      try {
        child = await this.#launch(true)
        readyAtMs = clock.now()
      } catch (error) {
        child = this.#run?.child
        if (!signal.aborted) log.warn('component did not start', { name, error })
      }
    }
  }

  /** Waits before the next run as the restart policy says. Resolves with false when the component is stopped meanwhile. */
  async #backOff(
    exit: ChildExit,
    readyAtMs: number | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, log } = this.#options
    const wasReady = readyAtMs !== undefined
    const ranMs = wasReady ? clock.now() - readyAtMs : 0
    const decision = decideRestart({ wasReady, ranMs, signal: exit.signal }, this.#crashes)
    this.#crashes = decision.crashes
    const why = exit.signal ?? `exit code ${exit.code ?? 'unknown'}`
    log.warn('component ended', { name: this.spec.name, why, restartInMs: decision.delayMs })
    this.#run = undefined
    this.#enter('backoff', `ended by itself: ${why}`)
    if (decision.delayMs === 0) return true
    return await clock.sleep(decision.delayMs, signal).then(
      () => true,
      () => false, // stopped while it waited
    )
  }

  async #end(): Promise<void> {
    this.#wanted?.abort(new Error('stopped'))
    this.#wanted = undefined
    const run = this.#run
    this.#prepared = undefined
    if (run !== undefined) {
      this.#enter('stopping')
      await run.child.stop()
      if (this.#run === run) this.#run = undefined
    }
    if (this.#state !== 'stopped') this.#enter('stopped')
  }
}

/** Nothing runs before `start`. */
export function createManagedComponent(options: ManagedComponentOptions): ManagedComponent {
  return new Managed(options)
}
