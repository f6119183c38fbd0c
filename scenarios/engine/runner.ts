/** Runner: runs scenarios in order, each on its own new cluster, or all on a running one. */
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { stagesIn } from '../../cluster/stages/stages-in.ts'
import { openCluster, startCluster } from '../../cluster/cluster.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { matrixOf } from './matrix.ts'
import { processCluster } from './process-cluster.ts'
import { runScenario } from './run-scenario.ts'
import type { ScenarioResult, StepResult } from './scenario-result.ts'
import type { ScenarioCluster } from './scenario-cluster.ts'
import type { Scenario } from './scenario.ts'
import { scenarioClusterName } from './scenario-cluster-name.ts'

/** Starts an embedded cluster for a scenario. Rejects for settings that it cannot have. */
export type EmbeddedStarter = (
  scenario: Scenario,
  signal: AbortSignal,
) => Promise<{ cluster: ScenarioCluster; clock: Clock; letGo: () => Promise<void> }>

export interface RunnerOptions {
  /** Embedded clusters in the place of processes. */
  readonly startEmbedded?: EmbeddedStarter | undefined
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly stateRoot: string
  /** Name of a running cluster to use instead of new ones. The runner neither resets nor deletes it. */
  readonly clusterName?: string | undefined
  /** Dialect of new clusters; a scenario's own dialect wins. */
  readonly dialect?: 'kubernetes' | 'svc' | undefined
  /** Port of new clusters. Default: a free port. */
  readonly port?: number | undefined
  /** Leave the clusters running, as `scenario-<name>`. */
  readonly keep: boolean
  readonly onScenario?: ((scenario: Scenario) => void) | undefined
  readonly onStep?: ((result: StepResult) => void) | undefined
  /** The last scenario that began has ended. */
  readonly onResult?: ((result: ScenarioResult) => void) | undefined
}

/** The cluster of a scenario, and how to release it. */
async function clusterFor(scenario: Scenario, options: RunnerOptions): ReturnType<EmbeddedStarter> {
  const { clock, signal, stateRoot, clusterName, keep, startEmbedded } = options
  if (startEmbedded !== undefined) return await startEmbedded(scenario, signal)
  if (clusterName !== undefined) {
    const cluster = await openCluster({ name: clusterName, stateRoot, clock })
    return { cluster: processCluster(cluster), clock, letGo: async () => cluster.disconnect() }
  }
  const { nodes, simulatedNodes, dialect, flags, stages } = scenario.cluster
  const cluster = await startCluster({
    name: scenarioClusterName(scenario.name),
    stateRoot,
    nodes,
    simulatedNodes,
    dialect: dialect ?? options.dialect,
    port: options.port,
    extraFlags: flags,
    stages: await stagesIn(stages),
    lifetime: keep ? 'detached' : 'owner',
    clock,
    signal,
  })
  const letGo = keep
    ? async () => cluster.disconnect()
    : async () => await cluster[Symbol.asyncDispose]()
  return { cluster: processCluster(cluster), clock, letGo }
}

function notStarted(scenario: Scenario, error: unknown): ScenarioResult {
  const details = error instanceof ClusterError ? error.details : []
  return {
    name: scenario.name,
    file: scenario.file,
    description: scenario.description,
    outcome: 'failed',
    durationMs: 0,
    wallMs: 0,
    steps: [],
    failure: [messageOf(error), ...details],
  }
}

/** Runs all scenarios in order, also after a failed one. When `signal` aborts, deletes the clusters it started and rejects. */
export async function runScenarios(
  scenarios: readonly Scenario[],
  options: RunnerOptions,
): Promise<ScenarioResult[]> {
  const { signal, onStep } = options
  const results: ScenarioResult[] = []
  const add = (result: ScenarioResult): void => {
    results.push(result)
    options.onResult?.(result)
  }
  for (const scenario of scenarios.flatMap(matrixOf)) {
    signal.throwIfAborted()
    options.onScenario?.(scenario)
    let place
    try {
      place = await clusterFor(scenario, options)
    } catch (error) {
      signal.throwIfAborted()
      add(notStarted(scenario, error))
      continue
    }
    const { cluster, clock, letGo } = place
    try {
      add(await runScenario(scenario, { cluster, clock, signal, onStep }))
    } finally {
      await letGo()
    }
  }
  return results
}
