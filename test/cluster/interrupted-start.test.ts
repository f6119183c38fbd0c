/** A start that is killed in the middle, and a state directory that goes away under a running cluster. */
import { execFile } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { launchCluster } from '../../cluster/launch.ts'
import { processesMarked } from '../../cluster/state/process-identity.ts'
import { lockHolder } from '../../cluster/state/lock.ts'
import { readJsonFile, statePaths } from '../../cluster/state/state-dir.ts'
import type { RecordedProcess } from '../../cluster/supervisor/process-record.ts'
import { eventually } from '../support/eventually.ts'
import { fixtureLaunch, temporaryStateRoot } from './temporary-state.ts'

const starter = join(import.meta.dirname, 'fixtures', 'starter.ts')

/** A start in a process of its own, as far as it goes before it is killed. */
async function startElsewhere(root: string): Promise<{ id: string; process: ChildProcess }> {
  const child = execFile(process.execPath, [starter, root, String(fixtureLaunch(root).port)])
  onTestFinished(() => void child.kill('SIGKILL'))
  const said = await new Promise<string>((resolve) => {
    child.stdout?.once('data', (data: unknown) => resolve(String(data)))
  })
  return { ...(JSON.parse(said) as { id: string }), process: child }
}

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}

test('while one start goes on, another is told who is at it, and disturbs nothing', async () => {
  const root = temporaryStateRoot()
  const first = await startElsewhere(root)
  const { pid } = first.process
  await expect(launchCluster(fixtureLaunch(root))).rejects.toMatchObject({
    kind: 'already-exists',
    message: `another start of cluster "lab" is in progress (pid ${pid})`,
  })
  expect(processesMarked(first.id)).toHaveLength(5)
})

test('a start that was killed before there was data is done anew, whatever it had written', async () => {
  const root = temporaryStateRoot()
  const paths = statePaths(root, 'lab')
  const first = await startElsewhere(root)
  await killed(first.process)
  expect(processesMarked(first.id)).toHaveLength(5)
  // As if it had been killed in the middle of writing them.
  rmSync(join(paths.pki, 'admin.key'))

  const second = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  expect(second).toMatchObject({ resumed: false, followsInterrupted: true })
  expect(second.config.id).not.toBe(first.id)
  expect(processesMarked(first.id)).toEqual([])
  expect(existsSync(join(paths.pki, 'admin.key'))).toBe(true)
  await second.control.call('start', {})
  second.release()
  expect(existsSync(paths.startLock)).toBe(false)
})

test('a start that was killed when there was data goes on with it', async () => {
  const root = temporaryStateRoot()
  const paths = statePaths(root, 'lab')
  const first = await startElsewhere(root)
  writeFileSync(paths.store, 'data')
  await killed(first.process)

  const second = await launchCluster(fixtureLaunch(root, { nodes: 1 }))
  expect(second).toMatchObject({ resumed: true, followsInterrupted: true })
  expect(second.config.id).toBe(first.id)
  expect(existsSync(paths.store)).toBe(true)
  await second.control.call('start', {})
  expect(processesMarked(first.id)).toHaveLength(5)
})

test('a start of which the supervisor was killed too is done again', async () => {
  const root = temporaryStateRoot()
  const paths = statePaths(root, 'lab')
  const first = await startElsewhere(root)
  const supervisor = lockHolder(paths)?.pid ?? 0
  await killed(first.process)
  process.kill(supervisor, 'SIGKILL')
  const second = await launchCluster(fixtureLaunch(root))
  expect(second.followsInterrupted).toBe(true)
  expect(processesMarked(first.id)).toEqual([])
})

test.each([
  ['removed', (dir: string) => rmSync(dir, { recursive: true })],
  ['moved away', (dir: string) => renameSync(dir, `${dir}-moved`)],
])('a state directory that is %s takes all processes of its cluster with it', async (_, lose) => {
  const root = temporaryStateRoot()
  const { control, paths, config } = await launchCluster(fixtureLaunch(root))
  await control.call('start', {})
  expect(processesMarked(config.id)).toHaveLength(6)
  lose(paths.dir)
  await eventually(() => expect(processesMarked(config.id)).toEqual([]))
  expect(existsSync(paths.dir)).toBe(false)
})

test('a new cluster in the place of a removed directory is not touched by the old one', async () => {
  const root = temporaryStateRoot()
  const old = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await old.control.call('start', {})
  rmSync(old.paths.dir, { recursive: true })
  const next = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await next.control.call('start', {})
  await eventually(() => expect(processesMarked(old.config.id)).toEqual([]))
  const recorded = readJsonFile<RecordedProcess[]>(next.paths.processes) ?? []
  const running = processesMarked(next.config.id).map(({ pid }) => pid)
  expect(running).toHaveLength(4)
  expect(recorded.map(({ pid }) => pid).every((pid) => running.includes(pid))).toBe(true)
  expect(lockHolder(next.paths)).toBeDefined()
})
