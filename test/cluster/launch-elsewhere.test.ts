/** Launch and take-down as on systems without signals, sockets in folders or /proc: real processes under a real supervisor. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launchCluster } from '../../cluster/launch.ts'
import { isAlive } from '../../cluster/state/process-identity.ts'
import { lockHolder } from '../../cluster/state/lock.ts'
import { readJsonFile } from '../../cluster/state/state-dir.ts'
import { removeCluster } from '../../cluster/take-down.ts'
import type { RecordedProcess } from '../../cluster/supervisor/process-record.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { fixtureLaunch, temporaryStateRoot } from './temporary-state.ts'

const clock = systemClock

/** A cluster of stand-ins whose supervisor has what Windows has. */
async function launched() {
  const pipes = join(temporaryFolder('pipes'), 'skiff-')
  const supervisorFlags = ['--process-control=channels', `--pipe-prefix=${pipes}`]
  const options = fixtureLaunch(temporaryStateRoot(), { nodes: 1, supervisorFlags })
  const cluster = await launchCluster(options)
  await cluster.control.call('start', {})
  const recorded = readJsonFile<RecordedProcess[]>(cluster.paths.processes) ?? []
  const log = (name: string): string =>
    readFileSync(join(cluster.paths.logs, `${name}.log`), 'utf8')
  return { cluster, recorded, log }
}

test('without signals, components stop by themselves when their channel ends', async () => {
  const { cluster, recorded, log } = await launched()
  await cluster.control.call('stop-component', { name: 'scheduler' })
  expect(log('scheduler')).toBe('scheduler starts as ready\nscheduler stops\n')
  await cluster.control.call('shutdown', {})
  for (const { component } of recorded) expect(log(component)).toContain(`${component} stops\n`)
  await removeCluster(cluster.paths, { clock })
  expect(recorded.filter((one) => isAlive(one))).toEqual([])
  expect(existsSync(cluster.paths.dir)).toBe(false)
})

test('without signals, components end with a supervisor that is killed', async () => {
  const { cluster, recorded } = await launched()
  expect(recorded).toHaveLength(4)
  process.kill(lockHolder(cluster.paths)?.pid ?? 0, 'SIGKILL')
  await eventually(() => expect(recorded.filter((one) => isAlive(one))).toEqual([]))
  await removeCluster(cluster.paths, { clock })
  expect(existsSync(cluster.paths.dir)).toBe(false)
})

test('without SIGSTOP, a pause fails with what to do in its place', async () => {
  const { cluster } = await launched()
  await expect(cluster.control.call('pause', { name: 'node-1' })).rejects.toMatchObject({
    kind: 'usage',
    hint: 'kill it instead: skiff fault kill node-1 --name lab',
  })
  const { components } = await cluster.control.call('status', {})
  expect(components.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready', 'ready'])
})
