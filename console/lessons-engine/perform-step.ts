/** Performing a step for the learner: by its command where its programs are there, else by its action. */
import { ClusterError } from '../../cluster/cluster-error.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { describeEnd } from '../../scenarios/engine/kept-process.ts'
import { runCommand } from '../../scenarios/engine/run-command.ts'
import { runScenario } from '../../scenarios/engine/run-scenario.ts'
import type { ScenarioCluster } from '../../scenarios/engine/scenario-cluster.ts'
import type { CommandFolder } from './command-folder.ts'
import type { LessonSession } from './lesson-session.ts'
import { toolsOf } from './lesson-tools.ts'

export interface Performance {
  /** What the command wrote, standard output first; of an action its titles and notes. */
  readonly output: string
  /** Why it failed, line by line; empty for a success. A command that is expected to fail is a success for its step's check. */
  readonly failure: readonly string[]
}

export interface PerformOptions {
  readonly session: LessonSession
  /** Actions are sent with its client. */
  readonly cluster: ScenarioCluster
  readonly clock: Clock
  readonly signal: AbortSignal
}

const mostMs = 120_000

function unseen(tool: string): ClusterError {
  return new ClusterError('failed', `${tool} is not in the PATH`, {
    hint: `install ${tool}, or skip the step`,
  })
}

async function runLine(
  line: string,
  { cluster, clock, signal, folder }: PerformOptions & { readonly folder: CommandFolder },
): Promise<Performance> {
  const { end, stdout, stderr } = await runCommand(
    { command: line, cwd: folder.path, env: { PATH: folder.searchPath }, signal },
    { cluster, clock },
  )
  const hasSucceeded = end.kind === 'ended' && end.code === 0
  return { output: `${stdout}${stderr}`, failure: hasSucceeded ? [] : [`it ${describeEnd(end)}`] }
}

/** Performs the action of a step with the session's variables. Rejects with `signal.reason`. */
export async function performAction(index: number, options: PerformOptions): Promise<Performance> {
  const { session, cluster, clock, signal } = options
  const { lesson, variables } = session
  const { action = [] } = lesson.steps[index] ?? {}
  const { steps, failure } = await runScenario(
    {
      name: lesson.name,
      file: lesson.file,
      description: lesson.title,
      cluster: {},
      timeoutMs: mostMs,
      variables: variables.all(),
      steps: action,
    },
    { cluster, clock, signal },
  )
  return {
    output: steps.flatMap(({ title, notes }) => [title, ...notes, '']).join('\n'),
    failure: [...failure, ...steps.flatMap((step) => step.failure)],
  }
}

/** Performs a step. A command that goes on in the background gives an empty output, and ends when the signal aborts. */
export async function performStep(
  index: number,
  options: PerformOptions & { readonly folder: CommandFolder },
): Promise<Performance> {
  const { session, folder } = options
  const { background = false } = session.lesson.steps[index] ?? {}
  const { command, hasAction } = session.view(index)
  const missing = toolsOf(command).find((tool) => !folder.has(tool))
  if (missing !== undefined) {
    if (!hasAction) throw unseen(missing)
    return await performAction(index, options)
  }
  const running = runLine(command, options)
  if (!background) return await running
  running.catch(() => {}) // its end is that of the lesson
  return { output: '', failure: [] }
}

/** Runs the command that shows the result; undefined where a program for it is missing. */
export async function performLook(
  index: number,
  options: PerformOptions & { readonly folder: CommandFolder },
): Promise<Performance | undefined> {
  const { look } = options.session.view(index)
  const isMissing = toolsOf(look).some((tool) => !options.folder.has(tool))
  return look === undefined || isMissing ? undefined : await runLine(look, options)
}
