/** Running one scenario on a cluster: its steps in order, until one fails. */
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { dirname, resolve } from 'node:path'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { dialectOf } from '../../cluster/plan/cluster-config.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { clientOf } from './actors.ts'
import type { Scenario } from './scenario.ts'
import { failureLines, NestedFailure } from './failure-lines.ts'
import type { KeptProcess } from './kept-process.ts'
import { AssertionFailure } from './step.ts'
import type { ScenarioStep, StepContext } from './step.ts'
import { createVariables } from './variables.ts'

export interface StepResult {
  readonly title: string
  readonly kind: string
  readonly outcome: 'passed' | 'failed' | 'not run'
  readonly durationMs: number
  readonly notes: readonly string[]
  /** Why it failed, line by line: what was expected, what was there, how it changed meanwhile. */
  readonly failure: readonly string[]
}

export interface ScenarioResult {
  readonly name: string
  readonly file: string
  readonly description: string
  readonly outcome: 'passed' | 'failed'
  readonly durationMs: number
  readonly steps: readonly StepResult[]
  /** Why it failed outside of any step: the cluster did not start, or something could not be tidied up. */
  readonly failure: readonly string[]
}

export interface RunScenarioOptions {
  readonly cluster: Cluster
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onStep?: ((result: StepResult) => void) | undefined
}

/** A step that was told to end has this long to do so in its own way; then nobody waits for it. */
const patienceMs = 5000

/** The clients of a scenario's actors, one connection each. */
function createActorClients(cluster: Cluster): {
  as: StepContext['clientAs']
  close: () => void
} {
  const resources = resourcesOf(dialectOf(cluster.config))
  const clients = new Map<string, Promise<Client>>()
  return {
    as: (actor) => {
      if (actor === 'admin') return Promise.resolve(cluster.client)
      const key = JSON.stringify(actor)
      const known = clients.get(key) ?? clientOf(actor, { cluster, resources })
      clients.set(key, known)
      return known
    },
    close: () => {
      for (const client of clients.values()) {
        client.then(
          (one) => one.close(),
          () => {}, // it never came to be
        )
      }
    },
  }
}

/** Resolves when the step fails as expected; an end of the scenario's time is no such failure. */
async function expectFailure(
  run: () => Promise<void>,
  options: { pattern: string; over: Promise<never>; either: AbortSignal },
): Promise<void> {
  const { pattern, over, either } = options
  let lines: string[]
  try {
    await Promise.race([run(), over])
    lines = []
  } catch (error) {
    if (either.aborted) throw error
    lines = failureLines(error)
  }
  if (lines.length > 0 && new RegExp(pattern).test(lines.join('\n'))) return
  throw new AssertionFailure({
    message: lines.length === 0 ? 'it did not fail' : 'it failed, but in another way',
    expected: [`a failure with ${pattern}`],
    actual: lines.length === 0 ? ['no failure'] : lines,
  })
}

/** Runs the steps; resolves with the result whatever happens, and rejects only when `signal` aborts. */
export async function runScenario(
  scenario: Scenario,
  options: RunScenarioOptions,
): Promise<ScenarioResult> {
  const { cluster, clock, signal, onStep } = options
  const dialect = dialectOf(cluster.config)
  const variables = createVariables(dialect, {
    server: cluster.server,
    caHash: cluster.config.caHash,
    ...scenario.variables,
  })
  const actors = createActorClients(cluster)
  const cleanups: (() => Promise<void>)[] = []
  const besides: (() => readonly string[])[] = []
  const processes = new Map<string, KeptProcess>()
  const startedMs = clock.now()
  const deadline = new AbortController()
  const cancel = clock.after(scenario.timeoutMs, () =>
    deadline.abort(new Error(`the scenario took longer than ${scenario.timeoutMs / 1000} s`)),
  )
  const either = AbortSignal.any([signal, deadline.signal])
  const over = Promise.withResolvers<never>()
  over.promise.catch(() => {}) // only a step that goes on hears of it
  let cancelPatience = (): void => {}
  either.addEventListener('abort', () => {
    cancelPatience = clock.after(patienceMs, () => over.reject(either.reason as Error))
  })

  const contextFor = (notes: string[]): StepContext => ({
    cluster,
    client: cluster.client,
    resources: resourcesOf(dialect),
    clock,
    variables,
    signal: either,
    clientAs: actors.as,
    note: (text) => void notes.push(text),
    onEnd: (cleanup) => void cleanups.push(cleanup),
    failScenario: (error) => deadline.abort(error),
    onFailure: (report) => void besides.push(report),
    folder: dirname(resolve(scenario.file)),
    processes,
    runSteps: async (steps, where) => {
      for (const step of steps) {
        try {
          await runStep(step, notes)
        } catch (error) {
          if (either.aborted) throw error
          throw new NestedFailure(`${where}, ${variables.expand(step.title)}`, error)
        }
      }
    },
  })
  const runStep = async (step: ScenarioStep, notes: string[]): Promise<void> => {
    either.throwIfAborted()
    const run = async (): Promise<void> =>
      await step.kind.run(variables.resolve(step.params), contextFor(notes))
    const { fails } = step
    if (fails === undefined) await Promise.race([run(), over.promise])
    else await expectFailure(run, { pattern: variables.expand(fails), over: over.promise, either })
  }

  const results: StepResult[] = []
  let hasFailed = false
  for (const step of scenario.steps) {
    const kind = step.kind.name
    if (hasFailed) {
      const title = variables.expand(step.title)
      results.push({ title, kind, outcome: 'not run', durationMs: 0, notes: [], failure: [] })
      continue
    }
    const stepStartedMs = clock.now()
    const notes: string[] = []
    let failure: string[] = []
    try {
      await runStep(step, notes)
    } catch (error) {
      hasFailed = true
      failure = [...failureLines(error), ...besides.flatMap((report) => report())]
    }
    const result: StepResult = {
      // What the step has saved is known by now.
      title: variables.expand(step.title),
      kind,
      outcome: hasFailed ? 'failed' : 'passed',
      durationMs: clock.now() - stepStartedMs,
      notes,
      failure,
    }
    results.push(result)
    onStep?.(result)
  }
  cancel()
  cancelPatience()
  // What went on beside the steps, and failed after the last of them.
  const failure: string[] =
    deadline.signal.aborted && !hasFailed
      ? [...failureLines(deadline.signal.reason), ...besides.flatMap((report) => report())]
      : []
  for (const cleanup of cleanups.toReversed()) {
    try {
      await cleanup()
    } catch (error) {
      failure.push(`tidying up: ${messageOf(error)}`)
    }
  }
  actors.close()
  signal.throwIfAborted()
  return {
    name: scenario.name,
    file: scenario.file,
    description: scenario.description,
    outcome: hasFailed || failure.length > 0 ? 'failed' : 'passed',
    durationMs: clock.now() - startedMs,
    steps: results,
    failure,
  }
}
