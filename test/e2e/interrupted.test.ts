/** What was killed in the middle: a start that is done again, a join whose agent goes too, a state directory that is gone. */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { startCluster } from '../../cluster/cluster.ts'
import { packageFolder } from '../../cluster/plan/programs.ts'
import { parentOf } from '../../cluster/state/lifetime.ts'
import { formatToken } from '../../cluster/plan/bootstrap-token.ts'
import { readClusterConfig } from '../../cluster/plan/cluster-config.ts'
import { processesMarked } from '../../cluster/state/process-identity.ts'
import { lockHolder } from '../../cluster/state/lock.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { eventually } from '../support/eventually.ts'
import { killHard, processesIn } from './machine.ts'
import { createPlace } from './place.ts'
import type { Place } from './place.ts'

let place: Place
beforeEach(() => {
  place = createPlace()
})
afterEach(() => place[Symbol.asyncDispose]())

/** Starts a cluster and kills the command, and its supervisor if asked, at that moment of the start. */
async function killUp(
  words: readonly string[],
  moment: () => void,
  alsoSupervisor: boolean,
): Promise<void> {
  const child = place.start(words)
  await eventually(moment)
  const supervisor = lockHolder(statePaths(place.stateRoot, 'lab'))?.pid
  await killHard(child.pid ?? 0)
  if (alsoSupervisor && supervisor !== undefined) await killHard(supervisor).catch(() => {})
}

const paths = () => statePaths(place.stateRoot, 'lab')

/** Moments of a start, by what can be seen of it from outside. */
const moments: [string, () => void, boolean][] = [
  [
    'when its configuration is there',
    () => expect(readClusterConfig(paths())).toBeDefined(),
    false,
  ],
  ['when its API server starts', () => expectProgram('api-server.js'), false],
  ['when its node starts', () => expectProgram('node-agent.js'), false],
  ['with its supervisor, when its API server starts', () => expectProgram('api-server.js'), true],
  ['with its supervisor, when its node starts', () => expectProgram('node-agent.js'), true],
]
function expectProgram(name: string): void {
  expect(processesIn(place.root).some(({ command }) => command.includes(name))).toBe(true)
}

test.each(moments)(
  'up that was killed %s: the next up brings the cluster',
  async (_, moment, both) => {
    const words = ['up', '--name', 'lab', '--nodes', '1']
    await killUp(words, moment, both)
    const before = readClusterConfig(paths())?.id ?? ''
    const up = await place.run(words)
    expect(up.stderr).toMatch(/^ ✓ last start .* was interrupted; its processes have been ended$/m)
    expect(up, up.stderr).toMatchObject({ code: 0 })
    const after = readClusterConfig(paths())?.id ?? ''
    // Supervisor, API server, controller manager, scheduler and one node; nothing of the first start besides.
    expect(processesMarked(after)).toHaveLength(5)
    if (before !== after) expect(processesMarked(before)).toEqual([])
    expect((await place.run(['status', '--name', 'lab'])).code).toBe(0)
    expect((await place.run(['down', '--name', 'lab'])).code).toBe(0)
    expect(place.leftovers()).toEqual([])
  },
)

test('a state directory that was removed by hand takes every process with it, and up begins anew', async () => {
  const cluster = await place.up('lab', ['--nodes', '1'])
  const { id } = cluster.config
  cluster.disconnect()
  rmSync(cluster.paths.dir, { recursive: true })
  await eventually(() => expect(processesMarked(id)).toEqual([]))
  const again = await place.up('lab', ['--nodes', '1'])
  expect(again.config.id).not.toBe(id)
})

test('skiff join that is killed takes its agent with it at once', async () => {
  const cluster = await place.up('lab', ['--nodes', '0'])
  const token = formatToken(await cluster.createToken())
  const child = place.start([
    ...['join', cluster.server, '--token', token, '--port', '0', '--node-name', 'guest'],
    ...['--discovery-token-ca-cert-hash', cluster.config.caHash],
  ])
  await new Promise<void>((resolve) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      if (/\bready\b/.test(line)) resolve()
    })
  })
  const agents = () =>
    processesIn(place.root).filter(({ command }) => /--node-name=guest/.test(command))
  expect(agents()).toHaveLength(1)
  await killHard(child.pid ?? 0)
  await eventually(() => expect(agents()).toEqual([]))
  const { nodes } = resourcesOf(cluster.client.dialect)
  expect((await cluster.client.resource(nodes).get({ name: 'guest' })).metadata.name).toBe('guest')
})

test('a cluster of a test runner that is killed is removed, with its data', async () => {
  const runner = spawn('sleep', ['1000'])
  onTestFinished(() => void runner.kill('SIGKILL'))
  const life = ['--parent', String(runner.pid), '--ttl', '1h']
  const cluster = await place.up('lab', ['--nodes', '1', ...life])
  const { id } = cluster.config
  const status = await place.run(['status', '--name', 'lab'])
  expect(status.stdout).toMatch(
    new RegExp(`^ends with process ${runner.pid}, or in (60|59) min$`, 'm'),
  )
  runner.kill('SIGKILL')
  await eventually(() => expect(existsSync(cluster.paths.dir)).toBe(false))
  await eventually(() => expect(processesMarked(id)).toEqual([]))
})

test('a cluster whose programs are removed while it runs leaves nothing when it ends', async () => {
  const runner = spawn('sleep', ['1000'])
  onTestFinished(() => void runner.kill('SIGKILL'))
  const dist = packageFolder('dist')
  const folder = join(place.root, 'package', 'dist')
  cpSync(dist, folder, { recursive: true })
  cpSync(join(dist, '..', 'package.json'), join(folder, '..', 'package.json'))
  const cluster = await startCluster({
    name: 'lab',
    stateRoot: place.stateRoot,
    nodes: 0,
    port: 0,
    parent: parentOf(runner.pid ?? 0),
    programs: { supervisor: join(folder, 'supervisor.js'), folder },
  })
  cluster.disconnect()
  rmSync(folder, { recursive: true })
  runner.kill('SIGKILL')
  await eventually(() => expect(existsSync(cluster.paths.dir)).toBe(false))
  await eventually(() => expect(processesMarked(cluster.config.id)).toEqual([]))
})

test.each([
  [['--parent', '0'], '--parent 0: no such process'],
  [['--parent', 'me'], 'invalid value "me" for --parent: must be a whole number'],
  [['--ttl', '0'], 'invalid value "0s" for --ttl: must not be below 1s'],
])('up %j is refused, and leaves nothing', async (words, message) => {
  const { code, stderr } = await place.run(['up', '--name', 'other', ...words])
  expect(code).toBe(2)
  expect(stderr).toContain(message)
  expect(existsSync(join(place.stateRoot, 'clusters', 'other'))).toBe(false)
})
