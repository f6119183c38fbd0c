/** Launch and take-down: real processes of stand-in programs under a real supervisor. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { connectControl } from '../../cluster/control-client.ts'
import type { ComponentStatus } from '../../cluster/control-protocol.ts'
import { launchCluster } from '../../cluster/launch.ts'
import type { LaunchOptions } from '../../cluster/launch.ts'
import type { LaunchedCluster } from '../../cluster/launch.ts'
import { isAlive, processesMarked } from '../../cluster/state/process-identity.ts'
import { lockHolder } from '../../cluster/state/lock.ts'
import { readJsonFile, statePaths } from '../../cluster/state/state-dir.ts'
import type { RecordedProcess } from '../../cluster/supervisor/process-record.ts'
import { removeCluster, stopCluster } from '../../cluster/take-down.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { fixtureLaunch, temporaryStateRoot } from './temporary-state.ts'

const clock = systemClock

async function failure(work: Promise<unknown>): Promise<ClusterError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ClusterError)
  return error as ClusterError
}

async function states(cluster: LaunchedCluster): Promise<Record<string, string>> {
  const { components } = await cluster.control.call('status', {})
  return Object.fromEntries(components.map((one) => [one.name, one.state]))
}

/** Resolves once the supervisor reports that state for the component, at least `restarts` restarts later. */
async function untilState(
  cluster: LaunchedCluster,
  wanted: { name: string; state: string; restarts: number },
): Promise<ComponentStatus> {
  const control = await connectControl(cluster.paths)
  try {
    return await new Promise<ComponentStatus>((resolve, reject) => {
      control
        .call('watch', {}, (event) => {
          if (event.name !== wanted.name || event.state !== wanted.state) return
          if (event.restarts >= wanted.restarts) resolve(event)
        })
        .catch(reject)
    })
  } finally {
    control.close()
  }
}

/** Any process of the cluster but its supervisor, which may still be about to end. */
function isComponent(pid: number): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    // A process that is exiting has an empty command line: the supervisor, once its last answer is out.
    return command !== '' && !command.includes('supervisor-main')
  } catch {
    return false // it has ended
  }
}

test('a launched cluster runs the plan: the API server first, then the others; after down nothing is left', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(fixtureLaunch(root))
  const order: string[] = []
  await cluster.control.call('start', {}, (event) => {
    if (event.state === 'ready' || event.state === 'starting')
      order.push(`${event.name} ${event.state}`)
  })
  expect(order.slice(0, 2)).toEqual(['api-server starting', 'api-server ready'])
  expect(await states(cluster)).toEqual({
    'api-server': 'ready',
    'controller-manager': 'ready',
    scheduler: 'ready',
    'node-1': 'ready',
    'node-2': 'ready',
  })
  const recorded = readJsonFile<RecordedProcess[]>(cluster.paths.processes) ?? []
  expect(recorded.map((one) => one.component).toSorted()).toEqual([
    'api-server',
    'controller-manager',
    'node-1',
    'node-2',
    'scheduler',
  ])
  // Five components and the supervisor.
  expect(processesMarked(cluster.config.id)).toHaveLength(6)

  await removeCluster(cluster.paths, { clock })
  expect(recorded.filter((one) => isAlive(one))).toEqual([])
  expect(processesMarked(cluster.config.id)).toEqual([])
  expect(existsSync(cluster.paths.dir)).toBe(false)
})

test('secrets are readable by the owner alone, and no argument of a process holds one', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(fixtureLaunch(root, { nodes: 1 }))
  await cluster.control.call('start', {})
  const mode = (path: string): number => statSync(join(cluster.paths.dir, path)).mode & 0o777
  expect(mode('.')).toBe(0o700)
  expect(mode('control.sock')).toBe(0o600)
  expect(mode('kubeconfig')).toBe(0o600)
  expect(mode('pki/ca.key')).toBe(0o600)
  expect(mode('nodes/node-1/bootstrap.json')).toBe(0o600)
  const commandLines = processesMarked(cluster.config.id).map(({ pid }) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
  )
  expect(commandLines).toHaveLength(5)
  expect(commandLines.join()).not.toContain(cluster.token.secret)
})

test('a second up of a running name fails with a hint and does not disturb the first', async () => {
  const root = temporaryStateRoot()
  const first = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await first.control.call('start', {})
  const error = await failure(launchCluster(fixtureLaunch(root, { nodes: 0 })))
  expect(error.kind).toBe('already-exists')
  expect(error.message).toMatch(/^cluster "lab" is already running \(supervisor: pid \d+\)$/)
  expect(await states(first)).toMatchObject({ 'api-server': 'ready' })
})

test('a start that was taken down does not undo the cluster that has its name now', async () => {
  const root = temporaryStateRoot()
  const first = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await removeCluster(first.paths, { clock })
  const second = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await second.control.call('start', {})
  await first.undo()
  expect(await states(second)).toMatchObject({ 'api-server': 'ready' })
})

test('two clusters of different names run side by side', async () => {
  const root = temporaryStateRoot()
  const one = await launchCluster(fixtureLaunch(root, { nodes: 0, name: 'one' }))
  const two = await launchCluster(fixtureLaunch(root, { nodes: 0, name: 'two' }))
  await Promise.all([one.control.call('start', {}), two.control.call('start', {})])
  await removeCluster(one.paths, { clock })
  expect(await states(two)).toMatchObject({ scheduler: 'ready' })
})

test('a component that does not start fails the start with its last log lines; undo leaves nothing', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(fixtureLaunch(root))
  writeFileSync(join(cluster.paths.dir, 'api-server.mode'), 'fail')
  const error = await failure(cluster.control.call('start', {}))
  expect(error.message).toBe('api-server exited with code 1 before it was ready')
  expect(error.details.at(-1)).toContain('EADDRINUSE')
  expect(error.systemCode).toBe('EADDRINUSE')
  await cluster.undo()
  expect(processesMarked(cluster.config.id)).toEqual([])
  expect(existsSync(cluster.paths.dir)).toBe(false)
})

test('a port that is in use is an error before anything starts, and leaves nothing', async () => {
  const root = temporaryStateRoot()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  try {
    const error = await failure(launchCluster(fixtureLaunch(root, { port })))
    expect(error.message).toBe(`port ${port} on 127.0.0.1 is in use`)
    expect(existsSync(statePaths(root, 'lab').dir)).toBe(false)
  } finally {
    server.close()
  }
})

test('a component that is killed comes back at once, again and again', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await cluster.control.call('start', {})
  for (let round = 1; round <= 4; round += 1) {
    const before = await untilState(cluster, {
      name: 'scheduler',
      state: 'ready',
      restarts: round - 1,
    })
    process.kill(before.pid ?? 0, 'SIGKILL')
    const after = await untilState(cluster, { name: 'scheduler', state: 'ready', restarts: round })
    expect(after.pid).not.toBe(before.pid)
  }
})

test('a restart that a shutdown overtakes starts nothing any more', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await cluster.control.call('start', {})
  const restarted = cluster.control.call('restart', { name: 'scheduler' })
  const down = cluster.control.call('shutdown', {})
  // The shutdown comes before the new process is started, or while it starts.
  expect((await failure(restarted)).message).toMatch(
    /the cluster is shutting down|was stopped before it was ready/,
  )
  await down
  await cluster.control.closed
  expect(processesMarked(cluster.config.id).filter(({ pid }) => isComponent(pid))).toEqual([])
})

test('after kill -9 of the supervisor its components run on, and down finds and ends them', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(fixtureLaunch(root))
  await cluster.control.call('start', {})
  const recorded = readJsonFile<RecordedProcess[]>(cluster.paths.processes) ?? []
  process.kill(lockHolder(cluster.paths)?.pid ?? 0, 'SIGKILL')
  await cluster.control.closed
  expect(recorded.filter((one) => isAlive(one))).toHaveLength(5)
  await removeCluster(cluster.paths, { clock })
  expect(recorded.filter((one) => isAlive(one))).toEqual([])
  expect(existsSync(cluster.paths.dir)).toBe(false)
})

test.each(['{', '{}', 'null', '[null, 7, {}]'])(
  'down finds the processes also when their record is damaged: %s',
  async (damaged) => {
    const root = temporaryStateRoot()
    const cluster = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
    await cluster.control.call('start', {})
    process.kill(lockHolder(cluster.paths)?.pid ?? 0, 'SIGKILL')
    await expect.poll(() => lockHolder(cluster.paths)).toBeUndefined()
    writeFileSync(cluster.paths.processes, damaged)
    await removeCluster(cluster.paths, { clock })
    expect(processesMarked(cluster.config.id)).toEqual([])
    expect(existsSync(cluster.paths.dir)).toBe(false)
  },
)

test('a process that got the pid of a recorded one is never touched', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await stopCluster(cluster.paths, { clock })
  // This test's own process stands for the foreign one: same pid, another start time.
  const foreign = [{ component: 'scheduler', pid: process.pid, startTime: 'long ago' }]
  writeFileSync(cluster.paths.processes, JSON.stringify(foreign))
  await removeCluster(cluster.paths, { clock, graceMs: 100 })
  expect(existsSync(cluster.paths.dir)).toBe(false)
})

test('up after kill -9 of the supervisor ends what was left and goes on with the same port and pki', async () => {
  const root = temporaryStateRoot()
  const first = await launchCluster(fixtureLaunch(root))
  await first.control.call('start', {})
  const ca = readFileSync(join(first.paths.pki, 'ca.crt'), 'utf8')
  const recorded = readJsonFile<RecordedProcess[]>(first.paths.processes) ?? []
  process.kill(lockHolder(first.paths)?.pid ?? 0, 'SIGKILL')
  await expect.poll(() => lockHolder(first.paths)).toBeUndefined()

  const second = await launchCluster(fixtureLaunch(root))
  await second.control.call('start', {})
  expect(second.resumed).toBe(true)
  expect(second.config).toEqual(first.config)
  expect(readFileSync(join(first.paths.pki, 'ca.crt'), 'utf8')).toBe(ca)
  expect(recorded.filter((one) => isAlive(one))).toEqual([])
  expect(processesMarked(second.config.id)).toHaveLength(6)
})

test('a stored cluster is not started with settings that it does not have', async () => {
  const root = temporaryStateRoot()
  const first = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await stopCluster(first.paths, { clock })
  const error = await failure(launchCluster(fixtureLaunch(root, { nodes: 0, dialect: 'svc' })))
  expect(error.message).toBe('cluster "lab" already exists, with --dialect kubernetes')
  const flags = await failure(
    launchCluster(fixtureLaunch(root, { nodes: 0, extraFlags: { scheduler: { v: '4' } } })),
  )
  expect(flags.message).toBe('cluster "lab" already exists, with --set scheduler.v unset')
  expect(existsSync(first.paths.config)).toBe(true)
})

test('nodes come and go: added, stopped, started, removed; the configuration follows', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(fixtureLaunch(root, { nodes: 1 }))
  const { control } = cluster
  await control.call('start', {})
  await control.call('add-node', { node: { name: 'extra' } })
  const twice = await failure(control.call('add-node', { node: { name: 'extra' } }))
  expect(twice.kind).toBe('already-exists')
  await control.call('stop-component', { name: 'extra' })
  expect(await states(cluster)).toMatchObject({ extra: 'stopped', 'node-1': 'ready' })
  await control.call('start-component', { name: 'extra' })
  await control.call('pause', { name: 'extra' })
  expect(await states(cluster)).toMatchObject({ extra: 'paused' })
  await control.call('resume', { name: 'extra' })
  await control.call('remove-node', { name: 'node-1' })
  expect(Object.keys(await states(cluster))).toEqual([
    'api-server',
    'controller-manager',
    'scheduler',
    'extra',
  ])
  const stored = readJsonFile<{ nodes: unknown }>(cluster.paths.config)
  expect(stored?.nodes).toEqual([{ name: 'extra' }])
  const unknown = await failure(control.call('restart', { name: 'node-9' }))
  expect(unknown.hint).toBe('components: api-server, controller-manager, scheduler, extra')
})

test('a cluster that belongs to its owner ends when the owner does', async () => {
  const root = temporaryStateRoot()
  const { execFile } = await import('node:child_process')
  const owner = execFile(process.execPath, [
    join(import.meta.dirname, 'fixtures', 'owner.ts'),
    root,
  ])
  const said = await new Promise<string>((resolve) => {
    owner.stdout?.once('data', (data: unknown) => resolve(String(data)))
  })
  const { id } = JSON.parse(said) as { id: string }
  expect(processesMarked(id).length).toBeGreaterThanOrEqual(4)
  owner.kill('SIGKILL')
  await expect.poll(() => processesMarked(id)).toEqual([])
  await expect.poll(() => existsSync(statePaths(root, 'lab').dir)).toBe(false)
})

test('a state root too deep for a socket address works all the same', async () => {
  const root = join(temporaryStateRoot(), 'd'.repeat(60), 'e'.repeat(60))
  const cluster = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await cluster.control.call('start', {})
  expect(await states(cluster)).toMatchObject({ 'api-server': 'ready' })
  await removeCluster(cluster.paths, { clock })
})

test.each<[Partial<LaunchOptions>, string]>([
  [{ apiServers: 3 }, '--api-servers 3 needs a store that they can share'],
  [{ etcdServers: ['here'] }, 'invalid --etcd-servers: "here" is not the URL of an etcd member'],
  [{ store: 'etcd', etcdBinary: '/nowhere/etcd' }, '--etcd-binary: /nowhere/etcd is not a program'],
  [{ address: 'here' }, '"here" is not an IP address'],
  [{ nodes: -1 }, 'invalid number of nodes -1: must be from 0 to 200'],
])('wrong settings leave not even the folder of all clusters: %o', async (settings, message) => {
  const root = join(temporaryStateRoot(), 'state')
  const error = await failure(launchCluster(fixtureLaunch(root, settings)))
  expect(error.message).toBe(message)
  expect(existsSync(root)).toBe(false)
})

test('a number of simulated nodes that cannot be is refused, and leaves nothing', async () => {
  const root = temporaryStateRoot()
  const error = await failure(launchCluster(fixtureLaunch(root, { simulatedNodes: -2 })))
  expect(error.kind).toBe('usage')
  expect(error.message).toBe('invalid number of simulated nodes -2: must be from 0 to 10000')
  expect(existsSync(statePaths(root, 'lab').dir)).toBe(false)
})

test('a node that is removed, or did not start, leaves no folder with its key', async () => {
  const root = temporaryStateRoot()
  const { control, paths } = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
  await control.call('start', {})
  await control.call('add-node', { node: { name: 'node-1' } })
  expect(existsSync(join(paths.nodes, 'node-1'))).toBe(true)
  await control.call('remove-node', { name: 'node-1' })
  expect(existsSync(join(paths.nodes, 'node-1'))).toBe(false)
  control.close()
})

test('several API servers are restarted one after another: each is ready before the next one stops', async () => {
  const root = temporaryStateRoot()
  const cluster = await launchCluster(
    fixtureLaunch(root, {
      nodes: 0,
      apiServers: 3,
      etcdServers: ['http://127.0.0.1:1'],
      schedulers: 2,
    }),
  )
  await cluster.control.call('start', {})
  expect(Object.keys(await states(cluster))).toEqual([
    ...['api-server-1', 'api-server-2', 'api-server-3', 'load-balancer'],
    ...['controller-manager', 'scheduler-1', 'scheduler-2'],
  ])
  const order: string[] = []
  await cluster.control.call('restart', { name: 'api-server' }, ({ name, state }) => {
    if (state === 'stopping' || state === 'ready') order.push(`${name} ${state}`)
  })
  expect(order).toEqual(
    ['api-server-1', 'api-server-2', 'api-server-3'].flatMap((name) => [
      `${name} stopping`,
      `${name} ready`,
    ]),
  )
  await cluster.control.call('restart', { name: 'scheduler-2' })
  const error = await failure(cluster.control.call('restart', { name: 'etcd' }))
  expect(error.message).toBe('there is no component "etcd"')
})
