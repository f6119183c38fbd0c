/** Managed component: keeps one process of the cluster running as long as that is wanted. */
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { Log } from '../../components/component-base/log.ts'
import type { Child } from './child-process.ts'
import { ChildStartError } from './child-process.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ComponentState, ComponentStatus } from '../control-protocol.ts'
import type { ComponentSpec } from '../plan/plan.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import { decideRestart } from './restart-policy.ts'

export interface ManagedComponent {
  readonly spec: ComponentSpec
  status(): ComponentStatus
  /** Resolves when it is ready. Rejects with a ClusterError that holds its last log lines when this first start fails. */
  start(): Promise<void>
  /** Resolves when the process is gone; it stays so until `start`. */
  stop(): Promise<void>
  /** Sends a signal to the running process; `not-running` when there is none. */
  signal(signal: NodeJS.Signals): void
  /** It has answered nothing since then: ready becomes stuck. */
  silent(sinceMs: number, why: string): void
  /** It answers: stuck becomes ready. */
  answers(): void
  pause(): void
  resume(): void
  /** SIGKILL; resolves when that process is gone. */
  kill(): Promise<void>
}

export interface ManagedComponentOptions {
  /** Name of the cluster. */
  readonly cluster: string
  readonly spec: ComponentSpec
  readonly clock: Clock
  readonly log: Log
  /** Spawns one run of the component. */
  readonly spawn: (
    spec: ComponentSpec,
    onReport: (report: Readonly<Record<string, unknown>>) => void,
  ) => Child
  /** What it waits for, when that keeps it from becoming ready. */
  readonly waitsFor: () => string | undefined
  readonly onChange: (status: ComponentStatus) => void
  /** What to type to see the program's flags. */
  readonly helpLine: string
}

/** What an agent says about its way into the cluster (step, state, reason), as one line. */
function reportText(report: Readonly<Record<string, unknown>>): string {
  const { step, state, reason } = report
  return [`${String(step)} ${String(state)}`, ...(typeof reason === 'string' ? [reason] : [])].join(
    ': ',
  )
}

/** A program that refuses to start says why in its last line, `program: reason`; that line is the one to show. */
function describeFailure(
  { spec, helpLine }: ManagedComponentOptions,
  error: unknown,
): ClusterError {
  if (!(error instanceof ChildStartError)) {
    return new ClusterError('failed', messageOf(error), { cause: error })
  }
  const { reason, tail, message } = error
  const last = tail.at(-1) ?? ''
  const prefix = `${spec.program}: `
  if (reason !== 'exit' || !last.startsWith(prefix)) {
    const details = tail.length > 0 ? tail : ['it logged nothing: is the disk full?']
    return new ClusterError('failed', message, { details, cause: error })
  }
  const pointer = ' (see --help)'
  const why = `${spec.name} did not start: ${last.slice(prefix.length).replace(pointer, '')}`
  const more = last.endsWith(pointer) ? { hint: `its flags: ${helpLine}` } : {}
  return new ClusterError('failed', why, { ...more, cause: error })
}

export function createManagedComponent(options: ManagedComponentOptions): ManagedComponent {
  const { spec, clock, log, spawn, onChange } = options
  let state: ComponentState = 'waiting'
  let sinceMs = clock.now()
  let message: string | undefined
  let info: Readonly<Record<string, unknown>> | undefined
  let child: Child | undefined
  let restarts = 0
  let crashes = 0
  /** Aborts when the component is no longer wanted. */
  let wanted: AbortController | undefined

  const reason = (): string | undefined =>
    message ?? (state === 'starting' ? options.waitsFor() : undefined)
  const status = (): ComponentStatus => ({
    name: spec.name,
    program: spec.program,
    state,
    restarts,
    sinceMs,
    ...(child?.pid === undefined ? {} : { pid: child.pid }),
    ...(info === undefined ? {} : { info }),
    ...(reason() === undefined ? {} : { message: reason() as string }),
  })
  const enter = (next: ComponentState, why?: string, fromMs = clock.now()): void => {
    state = next
    sinceMs = fromMs
    message = why
    onChange(status())
  }

  /** One run until ready; the child is in place even when this rejects. */
  const launch = async (): Promise<Child> => {
    info = undefined
    const run: Child = spawn(spec, (report) => {
      if (child !== run || state === 'paused') return
      message = reportText(report)
      onChange(status())
    })
    child = run
    enter('starting')
    const line = await run.ready
    const { ready: _, ...rest } = line
    info = rest
    enter('ready')
    return run
  }

  /** Waits for the end of a run; starts the next ones until the component is no longer wanted. */
  const keepRunning = async (first: Child, signal: AbortSignal): Promise<void> => {
    let run: Child | undefined = first
    let readyAt: number | undefined = clock.now()
    for (;;) {
      const exit = (await run?.exited) ?? { code: undefined, signal: undefined }
      if (signal.aborted) return
      const ranMs = readyAt === undefined ? 0 : clock.now() - readyAt
      const end = { wasReady: readyAt !== undefined, ranMs, signal: exit.signal }
      const decision = decideRestart(end, crashes)
      crashes = decision.crashes
      const why = exit.signal ?? `exit code ${exit.code ?? 'unknown'}`
      log.warn('component ended', { name: spec.name, why, restartInMs: decision.delayMs })
      child = undefined
      enter('backoff', `ended by itself: ${why}`)
      if (decision.delayMs > 0) {
        try {
          await clock.sleep(decision.delayMs, signal)
        } catch {
          return // stopped while it waited
        }
      }
      restarts += 1
      readyAt = undefined
      try {
        run = await launch()
        readyAt = clock.now()
      } catch (error) {
        run = child
        if (!signal.aborted) log.warn('component did not start', { name: spec.name, error })
      }
    }
  }

  const begin = async (): Promise<void> => {
    const current = new AbortController()
    wanted = current
    crashes = 0
    try {
      const run = await launch()
      keepRunning(run, current.signal).catch((error: unknown) => {
        log.error('a component is no longer looked after', { name: spec.name, error })
        enter('failed', String(error))
      })
    } catch (error) {
      await child?.exited
      child = undefined
      if (current.signal.aborted) {
        throw new ClusterError('failed', `${spec.name} was stopped before it was ready`)
      }
      wanted = undefined
      const failure = describeFailure(options, error)
      enter('failed', failure.message)
      throw failure
    }
  }

  const end = async (): Promise<void> => {
    wanted?.abort(new Error('stopped'))
    wanted = undefined
    const run = child
    if (run !== undefined) {
      enter('stopping')
      await run.stop()
      if (child === run) child = undefined
    }
    info = undefined
    if (state !== 'stopped') enter('stopped')
  }

  /** Whoever asks for the same meanwhile waits for the same: two runs never overlap. */
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined
  const start = async (): Promise<void> => {
    while (stopping !== undefined) await stopping
    if (wanted === undefined) starting = begin()
    await starting
  }
  const stop = (): Promise<void> =>
    (stopping ??= end().finally(() => {
      stopping = undefined
    }))

  const running = (): Child => {
    if (child !== undefined) return child
    throw new ClusterError('not-running', `${spec.name} is not running`, {
      hint: `start it with: skiff restart ${spec.name}${nameFlagOf(options.cluster)}`,
    })
  }
  return {
    spec,
    status,
    start,
    stop,
    signal: (signal) => running().signal(signal),
    silent: (fromMs, why) => {
      if (state === 'ready') enter('stuck', why, fromMs)
    },
    answers: () => {
      if (state === 'stuck') enter('ready')
    },
    pause: () => {
      running().signal('SIGSTOP')
      enter('paused')
    },
    resume: () => {
      running().signal('SIGCONT')
      if (state === 'paused') enter(info === undefined ? 'starting' : 'ready')
    },
    kill: async () => {
      const run = running()
      run.signal('SIGKILL')
      await run.exited
    },
  }
}
