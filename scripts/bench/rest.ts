/** What a cluster of three nodes costs at rest: processor time of each process in a minute that begins 15 s after the start. */
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster } from '../../cluster/cluster.ts'
import { clusterProcesses } from './cluster-processes.ts'
import { benchFolder, removeBenchFolder } from './leave-nothing.ts'
import { processorUs } from './process.ts'
import { plainRow, type Row } from './rows.ts'

const settleMs = 15_000
const restMs = 60_000

/** Processor time in ms so far, by program: those of the three nodes together. */
function usedMs(folder: string): Map<string, number> {
  const used = new Map<string, number>()
  for (const { pid, program } of clusterProcesses(folder)) {
    used.set(program, (used.get(program) ?? 0) + processorUs(pid) / 1000)
  }
  return used
}

export async function measureRest(): Promise<Row[]> {
  const folder = benchFolder('rest')
  try {
    const settings = { name: 'bench', stateRoot: folder, nodes: 3, port: 0 } as const
    await using _cluster = await startCluster({ ...settings, lifetime: 'owner', waitMs: 60_000 })
    await delay(settleMs)
    const before = usedMs(folder)
    await delay(restMs)
    const used = [...usedMs(folder)].map(
      ([program, ms]) => [program, ms - (before.get(program) ?? 0)] as const,
    )
    const all = used.reduce((sum, [, ms]) => sum + ms, 0)
    return [
      plainRow(
        'a cluster of three nodes at rest',
        `${((all / restMs) * 100).toFixed(2)} % of a core`,
        used.map(([program, ms]) => `${program} ${(ms / 1000).toFixed(2)} s`).join(', '),
      ),
    ]
  } finally {
    removeBenchFolder(folder)
  }
}
