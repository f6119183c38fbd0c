/** Running one scenario on a cluster: its steps in order, until one fails. */
import { resourcesOf, type Resources } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { dirname, resolve } from 'node:path'
import { realOf } from '../../components/component-base/clock.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { clientOf } from './actors.ts'
import type { Scenario } from './scenario.ts'
import { createScenarioHistory } from './scenario-history.ts'
import type { ScenarioHistory } from './scenario-history.ts'
import type { ScenarioCluster } from './scenario-cluster.ts'
import { startScenarioMonitors } from './scenario-monitors.ts'
import type { ScenarioResult, StepResult } from './scenario-result.ts'
import { failureContext } from './failure-context.ts'
import { failureLines, NestedFailure } from './failure-lines.ts'
import { createFindResource, type FindResource } from './find-resource.ts'
import type { KeptProcess } from './kept-process.ts'
import { AssertionFailure } from './assertion-failure.ts'
import type { NestedSurroundings, ScenarioStep, StepContext } from './step.ts'
import { createVariables } from './variables.ts'
import type { Variables } from './variables.ts'

export interface RunScenarioOptions {
  readonly cluster: ScenarioCluster
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onStep?: ((result: StepResult) => void) | undefined
}

/** Grace period for a running step after the scenario was aborted. */
const patienceMs = 5000

/** The clients of a scenario's actors, one connection each. */
function createActorClients(cluster: ScenarioCluster): {
  as: StepContext['clientAs']
  close: () => void
} {
  const resources = resourcesOf(cluster.dialect)
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

/** How much has passed by the cluster's clock, and in real time. */
function stopwatch(clock: Clock): () => { durationMs: number; wallMs: number } {
  const startedMs = clock.now()
  const real = realOf(clock)
  const begunMs = real.elapsed()
  return () => ({
    durationMs: Math.round(clock.now() - startedMs),
    wallMs: Math.round(real.elapsed() - begunMs),
  })
}

/** Where a step runs. */
interface Place {
  readonly notes: string[]
  readonly variables: Variables
  readonly signal: AbortSignal
  readonly folder: string
}

function nestedPlace(place: Place, own: NestedSurroundings): Place {
  return {
    notes: place.notes,
    variables:
      own.variables === undefined ? place.variables : place.variables.within(own.variables),
    signal: own.signal === undefined ? place.signal : AbortSignal.any([place.signal, own.signal]),
    folder: own.folder ?? place.folder,
  }
}

/** One run of a scenario: the state that its steps share, the time limit, and the cleanups. */
class ScenarioRun {
  readonly #scenario: Scenario
  readonly #options: RunScenarioOptions
  readonly #variables: Variables
  readonly #actors: ReturnType<typeof createActorClients>
  readonly #resources: Resources
  readonly #findResource: FindResource
  readonly #history: ScenarioHistory
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
    this.#variables = createVariables(cluster.dialect, {
      server: cluster.server,
      caHash: cluster.caHash,
      ...scenario.variables,
    })
    this.#actors = createActorClients(cluster)
    this.#resources = resourcesOf(cluster.dialect)
    this.#findResource = createFindResource(this.#resources, cluster.client)
    this.#history = createScenarioHistory({
      client: cluster.client,
      resources: this.#resources,
      findResource: this.#findResource,
      clock,
      namespace: scenario.namespace ?? 'default',
    })
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
    await this.#makeNamespace()
    await this.#history.begin(this.#scenario.steps)
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

  /** The scenario's own namespace, which ends with it. */
  async #makeNamespace(): Promise<void> {
    const { namespace: name = 'default' } = this.#scenario
    if (name === 'default') return
    const namespaces = this.#options.cluster.client.resource(this.#resources.namespaces)
    try {
      await namespaces.create({ metadata: { name } })
      this.#cleanups.push(async () => void (await namespaces.delete({ name })))
    } catch (error) {
      // One that was there before stays.
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
  }

  /** Runs the cleanups, last one first. Resolves with failures outside of the steps. `hasFailed`: a step has failed. */
  async end(hasFailed: boolean): Promise<string[]> {
    const { signal } = this.#deadline
    const failure = signal.aborted && !hasFailed ? await this.#failureLines(signal.reason) : []
    for (const cleanup of this.#cleanups.toReversed()) {
      try {
        await cleanup()
      } catch (error) {
        failure.push(`cleanup: ${messageOf(error)}`)
      }
    }
    this.#history.end()
    this.#actors.close()
    return failure
  }

  async #timed(step: ScenarioStep): Promise<StepResult> {
    const { clock } = this.#options
    const passed = stopwatch(clock)
    const notes: string[] = []
    let failure: string[] | undefined
    try {
      const folder = dirname(resolve(this.#scenario.file))
      await this.#runStep(step, {
        notes,
        folder,
        variables: this.#variables,
        signal: this.#signal,
      })
    } catch (error) {
      failure = await this.#failureLines(error)
    }
    return this.#resultOf(step, {
      outcome: failure === undefined ? 'passed' : 'failed',
      ...passed(),
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
    return {
      title,
      kind: step.kind.name,
      durationMs: 0,
      wallMs: 0,
      notes: [],
      failure: [],
      ...result,
    }
  }

  async #failureLines(error: unknown): Promise<string[]> {
    const { cluster, clock } = this.#options
    return [
      ...failureLines(error),
      ...(await failureContext(error, { cluster, clock })),
      ...this.#reports.flatMap((report) => report()),
    ]
  }

  async #runStep(step: ScenarioStep, place: Place): Promise<void> {
    const { signal, variables } = place
    signal.throwIfAborted()
    const run = async (): Promise<void> => {
      const params = variables.resolve(step.params)
      await Promise.race([step.kind.run(params, this.#contextFor(place)), this.#abandoned.promise])
    }
    const { fails } = step
    if (fails === undefined) return await run()
    await expectFailure(run, { pattern: variables.expand(fails), signal })
  }

  async #runNested(
    steps: readonly ScenarioStep[],
    { where, place }: { readonly where: string; readonly place: Place },
  ): Promise<void> {
    for (const step of steps) {
      try {
        await this.#runStep(step, place)
      } catch (error) {
        if (place.signal.aborted) throw error
        throw new NestedFailure(`${where}, ${place.variables.expand(step.title)}`, error)
      }
    }
  }

  #contextFor(place: Place): StepContext {
    const { cluster, clock } = this.#options
    const { notes, variables, signal, folder } = place
    return {
      cluster,
      client: cluster.client,
      namespace: this.#scenario.namespace ?? 'default',
      resources: this.#resources,
      findResource: this.#findResource,
      clock,
      variables,
      signal,
      clientAs: this.#actors.as,
      note: (text) => void notes.push(text),
      onEnd: (cleanup) => void this.#cleanups.push(cleanup),
      failScenario: (error) => this.#deadline.abort(error),
      onFailure: (report) => void this.#reports.push(report),
      folder,
      history: this.#history,
      processes: this.#processes,
      runSteps: (steps, where, own = {}) =>
        this.#runNested(steps, { where, place: nestedPlace(place, own) }),
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
  const passed = stopwatch(clock)
  const { monitors } = scenario
  const endMonitors =
    monitors === undefined ? undefined : await startScenarioMonitors(monitors, options)
  const run = new ScenarioRun(scenario, options)
  const steps = await run.steps()
  const hasFailed = steps.some(({ outcome }) => outcome === 'failed')
  const violations = (await endMonitors?.()) ?? []
  const failure = [...violations, ...(await run.end(hasFailed))]
  signal.throwIfAborted()
  const outcome = hasFailed || failure.length > 0 ? 'failed' : 'passed'
  return { name, file, description, outcome, ...passed(), steps, failure }
}
