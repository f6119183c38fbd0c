/** Takes down what scripts/up.ts started, one step at a time: npx node scripts/down.ts [--dir .cluster/by-hand] [--yes] */
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
  'What runs',
  `Each process was noted with the time it started: a pid alone may belong to somebody else by now, and then it is left alone.`,
)
for (const one of readJsonFile<RecordedProcess[]>(paths.processes) ?? []) {
  show(`${one.component}  pid ${one.pid}  ${isAlive(one) ? 'runs' : 'is gone'}`)
}

await step(
  'Ending it',
  'TERM asks each one to finish what it does; who does not in five seconds gets KILL. Then the folder goes.',
)
await removeCluster(paths, { clock: systemClock })
show('nothing is left')
