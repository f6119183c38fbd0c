/** Running one scenario on a cluster: its steps in order, until one fails. */
import { resourcesOf, type Resources } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { dirname, resolve } from 'node:path'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { dialectOf } from '../../cluster/plan/cluster-config.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { clientOf } from './actors.ts'
import type { Scenario } from './scenario.ts'
import { failureLines, NestedFailure } from './failure-lines.ts'
import { createFindResource, type FindResource } from './find-resource.ts'
import type { KeptProcess } from './kept-process.ts'
import { AssertionFailure } from './assertion-failure.ts'
import type { ScenarioStep, StepContext } from './step.ts'
import { createVariables } from './variables.ts'
import type { Variables } from './variables.ts'

export interface StepResult {
  readonly title: string
  readonly kind: string
  readonly outcome: 'passed' | 'failed' | 'not run'
  readonly durationMs: number
  readonly notes: readonly string[]
  /** The report of a failed step, line by line; empty otherwise. */
  readonly failure: readonly string[]
}

export interface ScenarioResult {
  readonly name: string
  readonly file: string
  readonly description: string
  readonly outcome: 'passed' | 'failed'
  readonly durationMs: number
  readonly steps: readonly StepResult[]
  /** The report of a failure outside of the steps, line by line: the cluster did not start, or a cleanup failed. */
  readonly failure: readonly string[]
}

export interface RunScenarioOptions {
  readonly cluster: Cluster
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onStep?: ((result: StepResult) => void) | undefined
}

/** Grace period for a running step after the scenario was aborted. */
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
          () => {}, // a client that failed to connect needs no close
        )
      }
    },
  }
}

/** Resolves when the step fails as expected. The time limit of the scenario is not an expected failure. */
async function expectFailure(
  run: () => Promise<void>,
  options: { readonly pattern: string; readonly signal: AbortSignal },
): Promise<void> {
  const { pattern, signal } = options
  let lines: string[]
  try {
    await run()
    lines = []
  } catch (error) {
    if (signal.aborted) throw error
    lines = failureLines(error)
  }
  if (lines.length > 0 && new RegExp(pattern).test(lines.join('\n'))) return
  throw new AssertionFailure({
    message: lines.length === 0 ? 'it did not fail' : 'it failed with another error',
    expected: [`a failure that matches ${pattern}`],
    actual: lines.length === 0 ? ['no failure'] : lines,
  })
}

/** One run of a scenario: the state that its steps share, the time limit, and the cleanups. */
class ScenarioRun {
  readonly #scenario: Scenario
  readonly #options: RunScenarioOptions
  readonly #variables: Variables
  readonly #actors: ReturnType<typeof createActorClients>
  readonly #resources: Resources
  readonly #findResource: FindResource
  readonly #cleanups: (() => Promise<void>)[] = []
  readonly #reports: (() => readonly string[])[] = []
  readonly #processes = new Map<string, KeptProcess>()
  /** Aborts at the time limit, and when a background process fails. */
  readonly #deadline = new AbortController()
  readonly #signal: AbortSignal
  /** Rejects a grace period after `#signal` aborts, which abandons a step that has not ended. */
  readonly #abandoned = Promise.withResolvers<never>()
  readonly #timers: (() => void)[] = []

  constructor(scenario: Scenario, options: RunScenarioOptions) {
    const { cluster, clock, signal } = options
    this.#scenario = scenario
    this.#options = options
    this.#variables = createVariables(dialectOf(cluster.config), {
      server: cluster.server,
      caHash: cluster.config.caHash,
      ...scenario.variables,
    })
    this.#actors = createActorClients(cluster)
    this.#resources = resourcesOf(dialectOf(cluster.config))
    this.#findResource = createFindResource(this.#resources, cluster.client)
    this.#signal = AbortSignal.any([signal, this.#deadline.signal])
    this.#abandoned.promise.catch(() => {}) // only a running step awaits it
    const late = new Error(`the scenario took longer than ${scenario.timeoutMs / 1000} s`)
    this.#timers.push(clock.after(scenario.timeoutMs, () => this.#deadline.abort(late)))
    this.#signal.addEventListener('abort', () => {
      const abandon = (): void => this.#abandoned.reject(this.#signal.reason as Error)
      this.#timers.push(clock.after(patienceMs, abandon))
    })
  }

  /** Runs the steps in order; those after a failed one are `not run`. */
  async steps(): Promise<StepResult[]> {
    const results: StepResult[] = []
    let hasFailed = false
    for (const step of this.#scenario.steps) {
      if (hasFailed) {
        results.push(this.#resultOf(step, { outcome: 'not run' }))
        continue
      }
      const result = await this.#timed(step)
      hasFailed = result.outcome === 'failed'
      results.push(result)
      this.#options.onStep?.(result)
    }
    for (const cancel of this.#timers) cancel()
    return results
  }

  /** Runs the cleanups, last one first. Resolves with failures outside of the steps. `hasFailed`: a step has failed. */
  async end(hasFailed: boolean): Promise<string[]> {
    const { signal } = this.#deadline
    const failure = signal.aborted && !hasFailed ? this.#failureLines(signal.reason) : []
    for (const cleanup of this.#cleanups.toReversed()) {
      try {
        await cleanup()
      } catch (error) {
        failure.push(`cleanup: ${messageOf(error)}`)
      }
    }
    this.#actors.close()
    return failure
  }

  async #timed(step: ScenarioStep): Promise<StepResult> {
    const { clock } = this.#options
    const startedMs = clock.now()
    const notes: string[] = []
    let failure: string[] | undefined
    try {
      await this.#runStep(step, notes)
    } catch (error) {
      failure = this.#failureLines(error)
    }
    return this.#resultOf(step, {
      outcome: failure === undefined ? 'passed' : 'failed',
      durationMs: clock.now() - startedMs,
      notes,
      failure: failure ?? [],
    })
  }

  /** Call it after the step has run: the title can use variables that the step saves. */
  #resultOf(
    step: ScenarioStep,
    result: Pick<StepResult, 'outcome'> & Partial<StepResult>,
  ): StepResult {
    const title = this.#variables.expand(step.title)
    return { title, kind: step.kind.name, durationMs: 0, notes: [], failure: [], ...result }
  }

  #failureLines(error: unknown): string[] {
    return [...failureLines(error), ...this.#reports.flatMap((report) => report())]
  }

  async #runStep(step: ScenarioStep, notes: string[]): Promise<void> {
    this.#signal.throwIfAborted()
    const run = async (): Promise<void> => {
      const params = this.#variables.resolve(step.params)
      await Promise.race([step.kind.run(params, this.#contextFor(notes)), this.#abandoned.promise])
    }
    const { fails } = step
    if (fails === undefined) return await run()
    const pattern = this.#variables.expand(fails)
    await expectFailure(run, { pattern, signal: this.#signal })
  }

  async #runNested(
    steps: readonly ScenarioStep[],
    { where, notes }: { readonly where: string; readonly notes: string[] },
  ): Promise<void> {
    for (const step of steps) {
      try {
        await this.#runStep(step, notes)
      } catch (error) {
        if (this.#signal.aborted) throw error
        throw new NestedFailure(`${where}, ${this.#variables.expand(step.title)}`, error)
      }
    }
  }

  #contextFor(notes: string[]): StepContext {
    const { cluster, clock } = this.#options
    return {
      cluster,
      client: cluster.client,
      resources: this.#resources,
      findResource: this.#findResource,
      clock,
      variables: this.#variables,
      signal: this.#signal,
      clientAs: this.#actors.as,
      note: (text) => void notes.push(text),
      onEnd: (cleanup) => void this.#cleanups.push(cleanup),
      failScenario: (error) => this.#deadline.abort(error),
      onFailure: (report) => void this.#reports.push(report),
      folder: dirname(resolve(this.#scenario.file)),
      processes: this.#processes,
      runSteps: (steps, where) => this.#runNested(steps, { where, notes }),
    }
  }
}

/** Runs the steps. Resolves with the result, passed or failed; rejects only when `signal` aborts. */
export async function runScenario(
  scenario: Scenario,
  options: RunScenarioOptions,
): Promise<ScenarioResult> {
  const { clock, signal } = options
  const { name, file, description } = scenario
  const startedMs = clock.now()
  const run = new ScenarioRun(scenario, options)
  const steps = await run.steps()
  const hasFailed = steps.some(({ outcome }) => outcome === 'failed')
  const failure = await run.end(hasFailed)
  signal.throwIfAborted()
  const outcome = hasFailed || failure.length > 0 ? 'failed' : 'passed'
  return { name, file, description, outcome, durationMs: clock.now() - startedMs, steps, failure }
}
