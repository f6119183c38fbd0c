/** How long `skiff up` takes until every node is Ready, and what each process of the cluster holds. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { benchFolder, removeBenchFolder } from './leave-nothing.ts'
import { clusterProcesses } from './cluster-processes.ts'
import { usage } from './process.ts'
import { plainRow, type Row } from './rows.ts'

export async function measureUp(root: string): Promise<Row[]> {
  const folder = benchFolder('up')
  const skiff = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'bin/skiff.js'), ...args], {
      env: { ...process.env, SKIFF_HOME: folder, XDG_STATE_HOME: folder },
      encoding: 'utf8',
    })
  const taken: number[] = []
  const rows: Row[] = []
  try {
    for (let round = 0; round < 5; round += 1) {
      const startedAt = performance.now()
      const up = skiff('up', '--name', 'bench', '--nodes', '3', '--parent', `${process.pid}`)
      taken.push(performance.now() - startedAt)
      if (up.status !== 0) throw new Error(`skiff up failed: ${up.stderr}`)
      if (round === 4) {
        // Idle: what the start left has been collected.
        await delay(8000)
        for (const { pid, program } of clusterProcesses(folder)) {
          rows.push(
            plainRow(`memory of ${program}`, `${usage(pid).residentMb.toFixed(0)} MB resident`),
          )
        }
      }
      skiff('down', '--name', 'bench')
    }
  } finally {
    skiff('down', '--name', 'bench')
    removeBenchFolder(folder)
  }
  taken.sort((a, b) => a - b)
  return [
    plainRow(
      'up of three nodes to all Ready',
      `${Math.round(taken[2] ?? 0)} ms`,
      `best ${Math.round(taken[0] ?? 0)} ms of 5`,
    ),
    ...rows,
  ]
}
