/** Playing a scenario that needs no cluster: a folder, and an API server's client where steps use one. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../../components/client/client.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { pathsIn } from '../../cluster/state/state-dir.ts'
import { processCluster } from '../../scenarios/engine/process-cluster.ts'
import { runScenario } from '../../scenarios/engine/run-scenario.ts'
import type { ScenarioResult } from '../../scenarios/engine/scenario-result.ts'
import { parseScenario } from '../../scenarios/engine/scenario.ts'

/** `id` is the cluster's; processes of a scenario carry it. */
export function playedProcesses(
  folder: string,
  id = 'played',
  client: Client = {} as Client,
): Cluster {
  const paths = pathsIn(folder)
  mkdirSync(paths.logs, { recursive: true })
  return {
    config: { dialect: 'kubernetes', caHash: 'sha256:0', id },
    server: 'https://127.0.0.1:6443',
    client,
    lab: { faults: { list: async () => [] } },
    paths,
  } as unknown as Cluster
}

/** Runs these steps, as YAML, in `folder`. */
export async function play(
  folder: string,
  steps: string,
  more: { head?: string; signal?: AbortSignal; id?: string; client?: Client } = {},
): Promise<ScenarioResult> {
  const text = `description: played\n${more.head ?? ''}\nsteps:\n${steps}`
  return await runScenario(parseScenario(text, join(folder, 'played.yaml')), {
    cluster: processCluster(playedProcesses(folder, more.id, more.client)),
    clock: systemClock,
    signal: more.signal ?? new AbortController().signal,
  })
}
