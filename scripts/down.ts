/** Stops and deletes the cluster of scripts/up.ts, one step at a time: npx node scripts/down.ts [--dir .cluster/by-hand] [--yes] */
import { join, resolve } from 'node:path'
import { echo } from 'zx'
import { isAlive } from '../cluster/state/process-identity.ts'
import { pathsIn, readJsonFile, stateDirExists } from '../cluster/state/state-dir.ts'
import type { RecordedProcess } from '../cluster/supervisor/process-record.ts'
import { removeCluster } from '../cluster/take-down.ts'
import { systemClock } from '../components/component-base/clock.ts'
import { option, show, step } from './teaching/lesson.ts'

const paths = pathsIn(resolve(option('dir', join('.cluster', 'by-hand'))))
if (!stateDirExists(paths)) {
  echo(`there is no cluster in ${paths.dir}`)
  process.exit(3)
}

await step(
  'Processes',
  `Each process is recorded with its start time. A process with the same pid and another start time is not ours, and keeps running.`,
)
for (const one of readJsonFile<RecordedProcess[]>(paths.processes) ?? []) {
  show(`${one.component}  pid ${one.pid}  ${isAlive(one) ? 'runs' : 'is gone'}`)
}

await step(
  'Stop',
  'Each process gets SIGTERM, and SIGKILL if it still runs after five seconds. Then the folder is deleted.',
)
await removeCluster(paths, { clock: systemClock })
show('nothing is left')
