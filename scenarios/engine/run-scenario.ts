/** Running one scenario on a cluster: its steps in order, until one fails. */
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { dialectOf } from '../../cluster/cluster-config.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { clientOf } from './actors.ts'
import type { Scenario } from './scenario.ts'
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

function failureLines(error: unknown): string[] {
  if (error instanceof AssertionFailure) return error.lines()
  return [messageOf(error)]
}

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
    runSteps: async (steps) => {
      for (const step of steps) await runStep(step, notes)
    },
  })
  const runStep = async (step: ScenarioStep, notes: string[]): Promise<void> => {
    either.throwIfAborted()
    const running = step.kind.run(variables.resolve(step.params), contextFor(notes))
    await Promise.race([running, over.promise])
  }

  const results: StepResult[] = []
  let hasFailed = false
  for (const step of scenario.steps) {
    const { title } = step
    const kind = step.kind.name
    if (hasFailed) {
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
      failure = failureLines(error)
    }
    const result: StepResult = {
      title,
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
  const failure: string[] = []
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
