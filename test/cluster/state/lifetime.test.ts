/** Lifetime: a cluster ends with its parent, or after its time, and then nothing of it is left. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startCluster } from '../../../cluster/cluster.ts'
import { launchCluster } from '../../../cluster/launch.ts'
import { endedMeanwhile, lifetimeOver, parentOf } from '../../../cluster/state/lifetime.ts'
import { mergeKubeconfig } from '../../../cluster/state/merge-kubeconfig.ts'
import {
  clusterMarker,
  identify,
  processesMarked,
} from '../../../cluster/state/process-identity.ts'
import { statePaths } from '../../../cluster/state/state-dir.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { processesIn } from '../../e2e/machine.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { fixtureLaunch, temporaryStateRoot } from '../temporary-state.ts'

/** A process that does nothing until it is killed. */
function bystander(environment: NodeJS.ProcessEnv = {}) {
  const child = spawn('sleep', ['1000'], { env: { ...process.env, ...environment } })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** How `lifetimeOver` ends on a clock that the test moves. */
function lifeOn(clock: FakeClock, lifetime: Parameters<typeof lifetimeOver>[0]) {
  const outcome: { why?: string } = {}
  void lifetimeOver(lifetime, { clock, signal: new AbortController().signal }).then((why) => {
    outcome.why = why
  })
  return outcome
}

test('a cluster whose parent is killed is removed: no process, no file, no entry in a kubeconfig', async () => {
  const root = temporaryStateRoot()
  const parent = bystander()
  const cluster = await launchCluster(
    fixtureLaunch(root, { nodes: 1, parent: parentOf(parent.pid ?? 0) }),
  )
  await cluster.control.call('start', {})
  const { paths, config } = cluster
  const merged = join(root, 'merged-config')
  writeFileSync(merged, '{apiVersion: v1, kind: Config, clusters: [{name: other, cluster: {}}]}')
  await mergeKubeconfig(paths, { name: config.name, file: merged })
  expect(readFileSync(merged, 'utf8')).toContain(config.name)
  // Somebody else's process of this cluster: it has the mark, and the supervisor did not start it.
  bystander({ [clusterMarker]: config.id })
  expect(await cluster.control.call('status', {})).toMatchObject({ ends: { withPid: parent.pid } })

  parent.kill('SIGKILL')
  await cluster.control.closed
  await eventually(() => expect(existsSync(paths.dir)).toBe(false))
  await eventually(() => expect(processesMarked(config.id)).toEqual([]))
  expect(readFileSync(merged, 'utf8')).not.toContain(config.name)
  expect(readFileSync(merged, 'utf8')).toContain('other')
})

test('a parent that is gone before the cluster has started takes the start with it', async () => {
  const root = temporaryStateRoot()
  const parent = bystander()
  const identity = parentOf(parent.pid ?? 0)
  parent.kill('SIGKILL')
  await new Promise((resolve) => parent.once('exit', resolve))
  const launched = launchCluster(fixtureLaunch(root, { nodes: 0, parent: identity }))
  // The supervisor may end before or after the launch has looked at it.
  await launched.then(
    ({ control, undo }) => control.closed.then(undo),
    (error: unknown) => expect(error).toMatchObject({ kind: 'not-running' }),
  )
  await eventually(() => expect(existsSync(statePaths(root, 'lab').dir)).toBe(false))
  await eventually(() => expect(processesIn(root)).toEqual([]))
})

test('a cluster whose time to live is over is removed', async () => {
  const cluster = await launchCluster(
    fixtureLaunch(temporaryStateRoot(), { nodes: 0, ttlMs: 1500 }),
  )
  const { ends } = await cluster.control.call('status', {})
  expect(ends?.atMs).toBeGreaterThan(systemClock.now() - 60_000)
  await cluster.control.closed
  await eventually(() => expect(existsSync(cluster.paths.dir)).toBe(false))
  await eventually(() => expect(processesMarked(cluster.config.id)).toEqual([]))
})

test('a start whose parent is killed says so, and leaves nothing', async () => {
  const root = temporaryStateRoot()
  const parent = bystander()
  const pid = parent.pid ?? 0
  const starting = startCluster({
    // Stand-ins never serve, so that this start cannot succeed.
    ...fixtureLaunch(root, { nodes: 0, parent: parentOf(pid) }),
    onProgress: () => void parent.kill('SIGKILL'),
  })
  await expect(starting).rejects.toMatchObject({
    kind: 'failed',
    message: `--parent ${pid}: this process ended before the cluster was ready`,
    hint: 'pass the pid of a process that runs as long as the cluster is needed',
  })
  await eventually(() => expect(existsSync(statePaths(root, 'lab').dir)).toBe(false))
  await eventually(() => expect(processesIn(root)).toEqual([]))
})

test('a start that took as long as the time to live says so, with what failed as its cause', () => {
  const parent = parentOf(process.pid)
  const cause = new Error('the cluster is shutting down')
  expect(endedMeanwhile({ parent, ttlMs: 1500 }, { tookMs: 1499, cause })).toBeUndefined()
  expect(endedMeanwhile({ parent, ttlMs: 1500 }, { tookMs: 1500, cause })).toMatchObject({
    kind: 'failed',
    message: '--ttl 1.5s: this time was over before the cluster was ready',
    hint: 'allow more time with --ttl',
    cause,
  })
})

test('a later process with the pid of the parent does not keep the cluster', async () => {
  const clock = new FakeClock()
  // This very process stands for the later one: the same pid, another start time.
  const life = lifeOn(clock, { parent: { pid: process.pid, startTime: 'long ago' } })
  await settle()
  expect(life.why).toBe(`its parent, pid ${process.pid}, has ended`)
})

test('the time to live counts by the clock, and not before it is over', async () => {
  const clock = new FakeClock()
  const parent = identify(process.pid)
  const life = lifeOn(clock, { parent, ttlMs: 30 * 60_000 })
  await clock.step(30 * 60_000 - 1)
  expect(life.why).toBeUndefined()
  await clock.step(1)
  expect(life.why).toBe('its ttl has expired')
})

test.each([0, -1, 2 ** 22 + 1])('%s is no parent', (pid) => {
  expect(() => parentOf(pid)).toThrow(`--parent ${pid}: no such process`)
})
