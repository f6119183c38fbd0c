/** One component in this process: its flags parsed as on the command line, its context made of the cluster's own parts. */
import { apiServerFlags } from '../components/api-server/configuration/options.ts'
import { runApiServer } from '../components/api-server/start/api-server.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { Commands } from '../components/component-base/commands.ts'
import { commonFlags } from '../components/component-base/component.ts'
import type { ComponentContext } from '../components/component-base/component.ts'
import type { Files } from '../components/component-base/files.ts'
import { parseFlags } from '../components/component-base/flags.ts'
import type { FlagDeclarations } from '../components/component-base/flags.ts'
import type { LocalNetwork } from '../components/component-base/local-network.ts'
import { createLog, messageOf } from '../components/component-base/log.ts'
import type { Suspension } from '../components/component-base/suspension.ts'
import type { UnderWay } from '../components/component-base/under-way.ts'
import { controllerManagerFlags } from '../components/controller-manager/options.ts'
import { runManagerProcess } from '../components/controller-manager/run-manager.ts'
import { runNodeAgent } from '../components/node-agent/node-agent.ts'
import { nodeAgentFlags } from '../components/node-agent/options.ts'
import { schedulerFlags } from '../components/scheduler/options.ts'
import { runSchedulerProcess } from '../components/scheduler/run-scheduler.ts'
import { stageRunnerFlags } from '../components/stage-runner/options.ts'
import type { GivenStore } from '../components/api-server/start/state.ts'
import type { Program } from '../cluster/plan/cluster-config.ts'

/** What the components of a cluster share instead of a machine. */
export interface Surroundings {
  readonly clock: Clock
  readonly files: Files
  readonly network: LocalNetwork
  readonly underWay: UnderWay
  readonly suspension: Suspension
  /** The component was ready, and has ended without being stopped. */
  readonly failed: (text: string, error: unknown) => void
  /** Lines of logs, as the programs write them. */
  readonly write: (line: string) => void
}

/** Whoever stops a cluster of a test waits for it; clients that still have a request under way do not. */
const drainMs = 100

export interface EmbeddedComponent {
  /** What it reported when it was ready. Rejects when it ends before. */
  readonly ready: Promise<Readonly<Record<string, unknown>>>
  /** Resolves when it has ended; rejects when it failed. */
  readonly ended: Promise<void>
  /** Its answer to a command. Rejects as `Commands.call` does. */
  command(name: string, params: unknown): Promise<unknown>
  stop(): Promise<void>
}

/** Starts a component with the arguments of its process. Throws a FlagError for them. */
export function startComponent(
  program: Program,
  args: readonly string[],
  around: Surroundings & { readonly given?: GivenStore },
): EmbeddedComponent {
  switch (program) {
    case 'api-server':
      return start(apiServerFlags, (context) => runApiServer(context, around.given), {
        program,
        args,
        around,
      })
    case 'controller-manager':
      return start(controllerManagerFlags, runManagerProcess, { program, args, around })
    case 'scheduler':
      return start(schedulerFlags, runSchedulerProcess, { program, args, around })
    case 'node-agent':
      // The steps of its way into the cluster are in its log.
      return start(nodeAgentFlags, (context) => runNodeAgent(context, () => {}), {
        program,
        args,
        around,
      })
    case 'stage-runner':
      // Few clusters have stages, and their languages are large.
      return start(
        stageRunnerFlags,
        async (context) => {
          const { runStageProcess } = await import('../components/stage-runner/run-stages.ts')
          await runStageProcess(context)
        },
        { program, args, around },
      )
    case 'load-balancer':
    case 'console':
    case 'etcd':
      throw new Error(`${program} runs as a process only`)
  }
}

function start<D extends FlagDeclarations>(
  declared: D,
  run: (context: ComponentContext<D>) => Promise<void>,
  { program, args, around }: { program: Program; args: readonly string[]; around: Surroundings },
): EmbeddedComponent {
  const { clock, files, network, underWay, suspension, write } = around
  const options = parseFlags({ ...declared, ...commonFlags, ...declared }, args)
  const log = createLog({ clock, fields: { component: program }, write })
  const stopping = new AbortController()
  const ready = Promise.withResolvers<Readonly<Record<string, unknown>>>()
  ready.promise.catch(() => {})
  const { signal } = stopping
  let isReady = false
  const nowReady = (info: Readonly<Record<string, unknown>> = {}): void => {
    isReady = true
    log.info('ready', info)
    ready.resolve(info)
  }
  const commands = new Commands()
  const given = { clock, files, network, underWay, suspension, commands, drainMs }
  const context = { options, signal, log, ...given, ready: nowReady }
  const ended = run(context as ComponentContext<D>).catch((error: unknown) => {
    if (signal.aborted && error === signal.reason) return
    log.error('failed', { error })
    throw error
  })
  const noteEnd = (error: unknown): void => {
    ready.reject(error)
    if (isReady && !signal.aborted)
      around.failed(`the ${program} failed: ${messageOf(error)}`, error)
  }
  ended.then(() => noteEnd(new Error(`the ${program} ended`)), noteEnd)
  return {
    ready: ready.promise,
    ended,
    command: (name, params) => commands.call(name, params),
    stop: async () => {
      stopping.abort(new Error('stopped'))
      await ended.catch(() => {
        // It is in the log.
      })
    },
  }
}
