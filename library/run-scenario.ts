/** Scenarios on a cluster of the library: a file, or steps as a file has them. */
import { resolve } from 'node:path'
import { matrixOf } from '../scenarios/engine/matrix.ts'
import { runScenario } from '../scenarios/engine/run-scenario.ts'
import { parseScenario, readScenario, ScenarioError } from '../scenarios/engine/scenario.ts'
import type { Scenario } from '../scenarios/engine/scenario.ts'
import type { ClusterForm } from './cluster-form.ts'
import { OptionError } from './option-error.ts'
import { ScenarioFailure } from './scenario-failure.ts'
import { scenarioClusterOver } from './scenario-cluster.ts'
import type { ScenarioOptions, ScenarioReport, ScenarioStep } from './types.ts'

/** Throws an OptionError with a line for each fault. */
function scenarioOf(what: string | readonly ScenarioStep[]): Scenario {
  try {
    if (typeof what === 'string') return readScenario(what)
    const text = JSON.stringify({ description: 'steps', steps: what })
    return parseScenario(text, 'steps')
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error
    throw new OptionError(error.faults.map((fault) => `scenario: ${fault}`))
  }
}

/** A matrix gives a report for each combination. Rejects with a ScenarioFailure at the first that fails. */
export async function runOn(
  form: ClusterForm,
  what: string | readonly ScenarioStep[],
  { variables = {}, signal = new AbortController().signal }: ScenarioOptions,
): Promise<ScenarioReport[]> {
  const scenario = scenarioOf(what)
  const { cluster, close } = scenarioClusterOver(form)
  const reports: ScenarioReport[] = []
  try {
    for (const one of matrixOf(scenario)) {
      const given = {
        ...one,
        variables: { ...one.variables, ...variables },
        file: resolve(one.file),
      }
      const result = await runScenario(given, { cluster, clock: form.clock, signal })
      if (result.outcome === 'failed') throw new ScenarioFailure(result)
      reports.push(result)
    }
    return reports
  } finally {
    close()
  }
}
