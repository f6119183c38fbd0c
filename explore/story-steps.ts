/** Story steps: running the steps of a story, which are scenario steps that only send requests, on an embedded cluster. */
import { dialects } from '../components/api/dialect.ts'
import { resourcesOf } from '../components/api/resources.ts'
import type { Client } from '../components/client/client.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { failureLines } from '../scenarios/engine/failure-lines.ts'
import { createFindResource } from '../scenarios/engine/find-resource.ts'
import type { ScenarioCluster } from '../scenarios/engine/scenario-cluster.ts'
import type { ScenarioStep, StepContext } from '../scenarios/engine/step.ts'
import { createVariables } from '../scenarios/engine/variables.ts'

/** A step of a story failed. */
export class StepError extends Error {
  readonly lines: readonly string[]
  constructor(title: string, lines: readonly string[], cause: unknown) {
    super(`${title}: ${lines[0] ?? ''}`, { cause })
    this.name = 'StepError'
    this.lines = lines
  }
}

const notHere = (): never => {
  throw new Error('this step needs a cluster of processes')
}

export interface StepRunner {
  /** Its title, with the variables that are known. */
  titleOf(step: ScenarioStep): string
  /** Rejects with a StepError, and with the signal's reason. */
  run(step: ScenarioStep, signal: AbortSignal): Promise<void>
}

/** One run of a story: steps share the variables that they save. */
export function createStepRunner(options: {
  readonly client: Client
  readonly clock: Clock
  readonly variables: Readonly<Record<string, unknown>>
}): StepRunner {
  const { client, clock } = options
  const dialect = dialects.kubernetes
  const variables = createVariables(dialect, options.variables)
  const resources = resourcesOf(dialect)
  const findResource = createFindResource(resources, client)
  const contextOf = (signal: AbortSignal): StepContext => ({
    get cluster(): ScenarioCluster {
      return notHere()
    },
    client,
    resources,
    findResource,
    clock,
    variables,
    signal,
    clientAs: notHere,
    note: () => {},
    onEnd: () => {},
    failScenario: () => {},
    onFailure: () => {},
    folder: '.',
    processes: new Map(),
    history: { recordOf: notHere },
    namespace: 'default',
    runSteps: notHere,
  })
  return {
    titleOf: ({ title }) => variables.expand(title),
    run: async (step, signal) => {
      try {
        await step.kind.run(variables.resolve(step.params), contextOf(signal))
      } catch (error) {
        signal.throwIfAborted()
        throw new StepError(variables.expand(step.title), failureLines(error), error)
      }
    },
  }
}
