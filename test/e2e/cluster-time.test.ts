/** The clock of a cluster of processes: paused, advanced and sped up by its supervisor, while every component follows. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { dialects } from '../../components/api/dialect.ts'
import type { CronJob, Job, Node } from '../../components/api/generated/types.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { eventually } from '../support/eventually.ts'
import { builtOnce } from './built.ts'
import { createPlace } from './place.ts'
import type { Place } from './place.ts'

const resources = resourcesOf(dialects.kubernetes)
const minuteMs = 60_000

let place: Place
let cluster: Cluster

beforeAll(async () => {
  await builtOnce()
  // Hours pass in seconds here: what is written how often is judged by real time.
  place = createPlace({ isJudged: false })
  cluster = await place.up('lab', ['--nodes', '2'])
})
afterAll(async () => {
  await place?.[Symbol.asyncDispose]()
})

const time = async (...words: string[]) => await place.run(['time', ...words, '--name', 'lab'])

async function readiness(): Promise<Record<string, string | undefined>> {
  const { items } = await cluster.client.resource<Node>(resources.nodes).list()
  return Object.fromEntries(
    items.map(({ metadata, status }) => [
      metadata.name,
      status?.conditions?.find(({ type }) => type === 'Ready')?.status,
    ]),
  )
}

const restarts = async (): Promise<number> => {
  const { components } = await cluster.control.call('status', {})
  return components.reduce((sum, one) => sum + one.restarts, 0)
}

test('a clock that nobody has set is real time, and answers do not tell it', async () => {
  const { stdout } = await time('now', '-o', 'json')
  expect(JSON.parse(stdout)).toMatchObject({ speed: 1, aheadMs: 0 })
  const { headers } = await cluster.client.rest.bytes({ method: 'GET', path: '/version' })
  expect(headers['skiff-time']).toBeUndefined()
})

test('while it is paused, the cluster serves, and time stands still', async () => {
  expect((await time('pause')).code).toBe(0)
  const first = await cluster.client.rest.bytes({ method: 'GET', path: '/version' })
  const create = async (name: string): Promise<string | undefined> => {
    const metadata = { name, namespace: 'default' }
    const made = await cluster.client.resource(resources.configMaps).create({ metadata })
    return made.metadata.creationTimestamp ?? undefined
  }
  const created = await create('one')
  // Real time passes.
  expect((await place.run(['status', '--name', 'lab'])).code).toBe(0)
  expect(await create('two')).toBe(created)
  const second = await cluster.client.rest.bytes({ method: 'GET', path: '/version' })
  expect(second.headers['skiff-time']).toBe(first.headers['skiff-time'])
  expect(first.headers['skiff-time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test.each([
  ['ten minutes', 10 * minuteMs],
  ['three days', 72 * 60 * minuteMs],
])(
  '%s are advanced: nodes and leaders renew their leases, and stay what they are',
  async (_, ms) => {
    const before = await cluster.lab.time.state()
    const uids = async (): Promise<(string | undefined)[]> => {
      const { items } = await cluster.client.resource(resources.leases).list()
      return items.map(({ metadata }) => metadata.uid)
    }
    const uidsBefore = await uids()
    const { code, stdout } = await time('advance', `${ms / minuteMs}m`, '-o', 'json')
    expect(code).toBe(0)
    const { now } = JSON.parse(stdout) as { now: string }
    expect(Date.parse(now) - before.nowMs).toBe(ms)
    expect(await readiness()).toEqual({ 'node-1': 'True', 'node-2': 'True' })
    expect(await restarts()).toBe(0)
    // No lease was taken for one of a server that is gone.
    expect(await uids()).toEqual(uidsBefore)
    const { items } = await cluster.client.resource(resources.leases).list()
    const renewed = items.map(({ spec }) =>
      Date.parse((spec as { renewTime: string } | undefined)?.renewTime ?? ''),
    )
    expect(renewed.length).toBeGreaterThan(2)
    for (const ms of renewed) expect(Date.parse(now) - ms).toBeLessThan(minuteMs)
  },
)

test('a CronJob of every five minutes runs twelve times in an hour that is advanced', async () => {
  const template = {
    spec: { restartPolicy: 'Never', containers: [{ name: 'tick', image: 'busybox' }] },
  }
  await cluster.client.resource<CronJob>(resources.cronJobs).create({
    metadata: { name: 'tick', namespace: 'default' },
    spec: {
      schedule: '*/5 * * * *',
      successfulJobsHistoryLimit: 100,
      jobTemplate: { spec: { template } },
    },
  } as CronJob)
  expect((await time('advance', '1h')).code).toBe(0)
  const { items } = await cluster.client.resource<Job>(resources.jobs).list()
  expect(items).toHaveLength(12)
  for (const { metadata } of items) {
    const date = new Date(metadata.creationTimestamp ?? '')
    expect(date.getUTCMinutes() % 5).toBe(0)
    expect(date.getUTCSeconds()).toBe(0)
  }
  expect(await restarts()).toBe(0)
})

test('a node that is frozen becomes Unknown by the clock of the cluster, and Ready again by its own', async () => {
  await cluster.control.call('pause', { name: 'node-2' })
  await time('advance', '1m')
  expect(await readiness()).toEqual({ 'node-1': 'True', 'node-2': 'Unknown' })
  await cluster.control.call('resume', { name: 'node-2' })
  await time('advance', '30s')
  expect(await readiness()).toEqual({ 'node-1': 'True', 'node-2': 'True' })
})

test('a bootstrap token expires by the clock of the cluster', async () => {
  const { id } = await cluster.createToken({ ttlMs: 10 * minuteMs })
  const secrets = cluster.client.resource(resources.secrets)
  const at = { namespace: 'kube-system', name: `bootstrap-token-${id}` }
  await time('advance', '9m')
  await secrets.get(at)
  await time('advance', '2m')
  const gone = await secrets.get(at).then(
    () => false,
    (error: unknown) => isStatusError(error, 'NotFound'),
  )
  expect(gone).toBe(true)
})

test('a component that starts again has the time of the cluster from its first moment on', async () => {
  const { nowMs } = await cluster.lab.time.state()
  await cluster.control.call('kill', { name: 'api-server' })
  const { headers } = await eventually(
    async () => await cluster.client.rest.bytes({ method: 'GET', path: '/readyz' }),
  )
  expect(headers['skiff-time']).toBe(new Date(nowMs).toISOString())
})

test('settled, the cluster has nothing to do but what recurs', async () => {
  const metadata = { name: 'web', namespace: 'default' }
  const labels = { app: 'web' }
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'web', image: 'nginx' }] },
  }
  const deployments = cluster.client.resource(resources.deployments)
  await deployments.create({
    metadata,
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  } as never)
  expect((await time('settle')).code).toBe(0)
  expect((await deployments.get(metadata)).status).toMatchObject({ availableReplicas: 3 })
})

test('sped up, it passes as fast as the cluster can, and resumed it goes on from where it is', async () => {
  const before = await cluster.lab.time.state()
  await time('speed', '20')
  await eventually(async () => {
    const { nowMs } = await cluster.lab.time.state()
    expect(nowMs - before.nowMs).toBeGreaterThan(minuteMs)
  })
  await time('speed', '1')
  expect(await readiness()).toEqual({ 'node-1': 'True', 'node-2': 'True' })
  expect(await restarts()).toBe(1)
  const { stdout } = await time('now')
  expect(stdout).toMatch(/^\d{4}-\S+Z {2}as fast as real time, \S+ ahead of real time\n$/)
})

test('bad input is refused in one line', async () => {
  const faults: [words: string[], line: RegExp][] = [
    [['advance', '-5m'], /^error: the clock cannot advance by -5m: clocks never go back$/m],
    [['advance', 'soon'], /^error: cannot advance by "soon"$/m],
    [
      ['advance', '2020-01-01T00:00:00Z'],
      /^error: the clock cannot advance to 2020-01-01T00:00:00.000Z: clocks never go back$/m,
    ],
    [['speed', '5000'], /^error: invalid speed 5000: it must be from 0.01 to 1000$/m],
    [['speed', 'fast'], /^error: invalid speed "fast": it must be a number from 0.01 to 1000$/m],
    [['backwards'], /^error: unknown command "time backwards"$/m],
  ]
  for (const [words, line] of faults) {
    const { code, stderr } = await time(...words)
    expect(stderr).toMatch(line)
    expect(code).toBe(2)
  }
})

test('a cluster whose clock stands still is taken down as any other', async () => {
  await time('pause')
  const { code } = await place.run(['down', '--name', 'lab'])
  expect(code).toBe(0)
})
