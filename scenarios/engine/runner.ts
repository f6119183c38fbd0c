/** Runner: runs scenarios in order, each on its own new cluster, or all on a running one. */
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { openCluster, startCluster } from '../../cluster/cluster.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { runScenario } from './run-scenario.ts'
import type { ScenarioResult, StepResult } from './run-scenario.ts'
import type { Scenario } from './scenario.ts'
import { scenarioClusterName } from './scenario-cluster-name.ts'

export interface RunnerOptions {
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
}

/** The cluster of a scenario, and how to release it. */
async function clusterFor(
  scenario: Scenario,
  options: RunnerOptions,
): Promise<{ cluster: Cluster; letGo: () => Promise<void> }> {
  const { clock, signal, stateRoot, clusterName, keep } = options
  if (clusterName !== undefined) {
    const cluster = await openCluster({ name: clusterName, stateRoot, clock })
    return { cluster, letGo: async () => cluster.disconnect() }
  }
  const { nodes, simulatedNodes, dialect, flags } = scenario.cluster
  const cluster = await startCluster({
    name: scenarioClusterName(scenario.name),
    stateRoot,
    nodes,
    simulatedNodes,
    dialect: dialect ?? options.dialect,
    port: options.port,
    extraFlags: flags,
    lifetime: keep ? 'detached' : 'owner',
    clock,
    signal,
  })
  const letGo = keep
    ? async () => cluster.disconnect()
    : async () => await cluster[Symbol.asyncDispose]()
  return { cluster, letGo }
}

function notStarted(scenario: Scenario, error: unknown): ScenarioResult {
  const details = error instanceof ClusterError ? error.details : []
  return {
    name: scenario.name,
    file: scenario.file,
    description: scenario.description,
    outcome: 'failed',
    durationMs: 0,
    steps: [],
    failure: [messageOf(error), ...details],
  }
}

/** Runs all scenarios in order, also after a failed one. When `signal` aborts, deletes the clusters it started and rejects. */
export async function runScenarios(
  scenarios: readonly Scenario[],
  options: RunnerOptions,
): Promise<ScenarioResult[]> {
  const { clock, signal, onStep } = options
  const results: ScenarioResult[] = []
  for (const scenario of scenarios) {
    signal.throwIfAborted()
    options.onScenario?.(scenario)
    let place
    try {
      place = await clusterFor(scenario, options)
    } catch (error) {
      signal.throwIfAborted()
      results.push(notStarted(scenario, error))
      continue
    }
    const { cluster, letGo } = place
    try {
      results.push(await runScenario(scenario, { cluster, clock, signal, onStep }))
    } finally {
      await letGo()
    }
  }
  return results
}
