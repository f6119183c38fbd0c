/** A node agent that a step starts by hand, as a process of its own. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Cluster } from '../../cluster/cluster.ts'
import { lastLines } from '../../cluster/log-tail.ts'
import { planNode } from '../../cluster/plan/plan.ts'
import { writeTokenFile } from '../../cluster/plan/prepare.ts'
import { builtPrograms } from '../../cluster/plan/programs.ts'
import { clusterMarker } from '../../cluster/state/process-identity.ts'
import { logOf } from '../../cluster/state/state-dir.ts'
import { startChild } from '../../cluster/supervisor/child-process.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { AgentToStart, StartedAgent } from './scenario-cluster.ts'
import { untilLogged } from './until-logged.ts'

const shownLines = 15

export async function startProcessAgent(
  { node, token, pin, server }: AgentToStart,
  { cluster, clock }: { readonly cluster: Cluster; readonly clock: Clock },
): Promise<StartedAgent> {
  const { paths } = cluster
  const config = { ...cluster.config, caHash: pin ?? cluster.config.caHash }
  const spec = planNode({ name: node }, config, paths)
  for (const folder of spec.folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const file of spec.files) {
    if (file.kind === 'bootstrap-token') await writeTokenFile(file.path, token)
  }
  const args = spec.args.map((arg) =>
    server !== undefined && arg.startsWith('--server=') ? `--server=${server}` : arg,
  )
  const logFile = logOf(paths, node)
  const child = startChild(
    {
      name: node,
      command: process.execPath,
      args: [...spec.nodeOptions, join(builtPrograms().folder, `${spec.program}.js`), ...args],
      environment: { [clusterMarker]: config.id },
      logFile,
      readyTimeoutMs: 60_000,
      stopTimeoutMs: 5000,
    },
    clock,
  )
  return {
    joined: ({ waitMs }) => cluster.waitForNodes([{ name: node }], { waitMs }),
    logged: (pattern, signal) => untilLogged(logFile, pattern, signal),
    lines: async () => lastLines(logFile, shownLines),
    stop: async () => void (await child.stop()),
  }
}
