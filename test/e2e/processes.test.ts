/** The processes of a cluster: which there are, that each survives SIGKILL, and that nothing is left when the cluster has gone. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { observe } from '../../cluster/observe.ts'
import { identify, isAlive, processesMarked } from '../../cluster/state/process-identity.ts'
import { lockHolder } from '../../cluster/state/lock.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { eventually } from '../support/eventually.ts'
import { killHard, listeningAddresses, pidOf, tcpListeners } from './machine.ts'
import { createPlace } from './place.ts'

const components = ['api-server', 'controller-manager', 'scheduler', 'node-1', 'node-2', 'node-3']
const place = createPlace()
let cluster: Cluster
/** Leaders outlast an API server that takes long to come back on a busy machine. After a kill of a leader the next one waits as long. */
const leases = (durationS: number, renewS: number): string[] =>
  ['controller-manager', 'scheduler'].flatMap((leader) => [
    ...['--set', `${leader}.leader-elect-lease-duration=${durationS}s`],
    ...['--set', `${leader}.leader-elect-renew-deadline=${renewS}s`],
  ])
const patience = leases(20, 18)
/** Where leaders are killed with all others, and the next ones need not wait long. */
const hurry = leases(6, 4)
beforeAll(async () => {
  cluster = await place.up('lab', patience)
})
afterAll(() => place[Symbol.asyncDispose]())

function deployment(name: string): KubeObject {
  const labels = { app: name }
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] },
      },
    },
  }
}

/** Resolves when the objects of that kind with this label amount to what is wanted. */
async function until(
  resource: 'deployments' | 'pods',
  isWanted: (objects: readonly KubeObject[]) => boolean,
): Promise<void> {
  const { client } = cluster
  const { clock } = client
  const signal = AbortSignal.timeout(90_000)
  const watched = client.resource(resourcesOf(client.dialect)[resource])
  await observe({ client: watched, clock, namespace: 'default', signal }, (objects) =>
    isWanted([...objects.values()]) ? true : undefined,
  )
}

const isReady = (pod: KubeObject): boolean => {
  const { conditions = [] } = pod['status'] as { conditions?: { type: string; status: string }[] }
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

/** The whole way: a deployment becomes available, a pod on each node Ready, and what ran before still runs. */
async function expectWorking(name: string): Promise<void> {
  const { client } = cluster
  const { deployments, pods } = resourcesOf(client.dialect)
  await client.resource(deployments).create(deployment(name))
  const nodes = cluster.config.nodes.map((node) => node.name)
  const pinned = nodes.map((node) => `${name}-on-${node}`)
  for (const [index, nodeName] of nodes.entries()) {
    await client.resource(pods).create({
      metadata: { name: pinned[index] ?? '', namespace: 'default' },
      spec: { nodeName, containers: [{ name: 'main', image: 'example.com/app:1' }] },
    })
  }
  await until('pods', (all) => {
    const ready = new Set(all.filter(isReady).map(({ metadata }) => metadata.name ?? ''))
    return pinned.every((one) => ready.has(one)) && ready.size === all.length
  })
  await until('deployments', (all) =>
    all.every((one) => (one['status'] as { availableReplicas?: number }).availableReplicas === 3),
  )
}

/** Who leads among the controller managers and schedulers, and how often that changed. */
async function leadership(): Promise<Record<string, { holder: string; transitions: number }>> {
  const { client } = cluster
  const leases = client.resource(resourcesOf(client.dialect).leases)
  const found = ['controller-manager', 'scheduler'].map(async (name) => {
    const ref = { namespace: client.dialect.systemNamespace, name: `kube-${name}` }
    const { holderIdentity, leaseTransitions } = (await leases.get(ref))['spec']
    return [name, { holder: holderIdentity, transitions: leaseTransitions }] as const
  })
  return Object.fromEntries(await Promise.all(found))
}

/** Everything that runs for the cluster, supervisor included, and where it listens. */
function inventory(): { pids: number[]; addresses: string[] } {
  const pids = processesMarked(cluster.config.id).map(({ pid }) => pid)
  return { pids, addresses: pids.flatMap(listeningAddresses) }
}

function expectNothingLeft(before: ReturnType<typeof inventory>): void {
  expect(before.pids.filter((pid) => identify(pid) !== undefined)).toEqual([])
  expect(processesMarked(cluster.config.id)).toEqual([])
  const listening = new Set(tcpListeners().map(({ address }) => address))
  expect(before.addresses.filter((address) => listening.has(address))).toEqual([])
  expect(place.leftovers()).toEqual([])
}

test('ps shows one process per component and per node, and no argument is a secret', async () => {
  const listed = execFileSync('ps', ['-eww', '-o', 'pid=,args='], { encoding: 'utf8' })
  const ours = listed.split('\n').filter((line) => line.includes(cluster.paths.dir))
  const programs = ours.map((line) => /\/dist\/([a-z-]+)\.js /.exec(line)?.[1] ?? line)
  expect(programs.toSorted()).toEqual(
    [
      ...['supervisor', 'api-server', 'controller-manager', 'scheduler'],
      ...Array.from({ length: 3 }, () => 'node-agent'),
    ].toSorted(),
  )
  for (const node of ['node-1', 'node-2', 'node-3']) {
    expect(ours.filter((line) => line.includes(`--node-name=${node} `))).toHaveLength(1)
  }
  expect(ours.join('\n')).not.toMatch(/[a-z0-9]{6}\.[a-z0-9]{16}\b/)
  expect(processesMarked(cluster.config.id)).toHaveLength(ours.length)
})

/** Kills one component; resolves when another process runs in its place, and none of the others has changed. */
async function killAndReplace(name: string): Promise<void> {
  const others = components.filter((one) => one !== name)
  const othersBefore = await Promise.all(others.map((one) => pidOf(cluster, one)))
  const statusOf = async () => {
    const { components: all } = await cluster.control.call('status', {})
    return all.find((component) => component.name === name)
  }
  const { pid = -1, restarts = -1 } = (await statusOf()) ?? {}
  await killHard(pid)
  await eventually(async () => {
    const one = await statusOf()
    expect(one).toMatchObject({ state: 'ready', restarts: restarts + 1 })
    expect(one?.pid).not.toBe(pid)
  }, 170_000)
  expect(await Promise.all(others.map((one) => pidOf(cluster, one)))).toEqual(othersBefore)
}

test.each([
  ['api-server', ['api-server']],
  // One after the other, but their leases run out together.
  ['the leaders', ['controller-manager', 'scheduler']],
  ['node-2', ['node-2']],
])(
  'after kill -9 of %s it runs again, all nodes are Ready, and everything works',
  async (what, names) => {
    const before = await leadership()
    for (const [at, name] of names.entries()) {
      await killAndReplace(name)
      const now = await leadership()
      for (const [leader, held] of Object.entries(before)) {
        if (!names.slice(0, at + 1).includes(leader)) expect(now[leader]).toEqual(held)
      }
    }
    const pids = await Promise.all(components.map((one) => pidOf(cluster, one)))
    await cluster.waitForNodes(cluster.config.nodes, { waitMs: 90_000 })
    await expectWorking(`after-${what.replace(' ', '-')}`)
    await eventually(async () => {
      const status = await place.run(['status', '--name', 'lab'])
      expect(status).toMatchObject({ code: 0, stderr: '' })
    })
    expect(await Promise.all(components.map((one) => pidOf(cluster, one)))).toEqual(pids)
    // Of a leader that was killed another process takes over, and that shows; the others lead on.
    for (const [leader, { holder, transitions }] of Object.entries(before)) {
      const after = (await leadership())[leader]
      if (!names.includes(leader)) expect(after).toEqual({ holder, transitions })
      else {
        expect(after?.transitions).toBe(transitions + 1)
        expect(after?.holder).not.toBe(holder)
      }
    }
  },
)

test('after down nothing is left: no process, no port, no file', async () => {
  const before = inventory()
  expect(before.pids).toHaveLength(7)
  expect(before.addresses.length).toBeGreaterThanOrEqual(4) // the API server and three agents
  const down = await place.run(['down', '--name', 'lab'])
  expect(down).toMatchObject({ code: 0, stdout: 'Cluster "lab" is gone\n', stderr: '' })
  expectNothingLeft(before)
})

test('down after kill -9 of the supervisor, and of it alone, leaves nothing either', async () => {
  cluster = await place.up('lab', ['--nodes', '1'])
  const before = inventory()
  const supervisor = lockHolder(cluster.paths)
  await killHard(supervisor?.pid ?? -1)
  const orphans = processesMarked(cluster.config.id)
  expect(orphans).toHaveLength(4)
  const down = await place.run(['down', '--name', 'lab'])
  expect(down).toMatchObject({ code: 0, stdout: 'Cluster "lab" is gone\n' })
  expect(orphans.filter((one) => isAlive(one))).toEqual([])
  expectNothingLeft(before)
  expect(existsSync(cluster.paths.dir)).toBe(false)
})

test('after kill -9 of the supervisor the cluster works on, status says so, and up goes on with the data', async () => {
  cluster = await place.up('lab', ['--nodes', '2', ...hurry])
  await expectWorking('supervised')
  const supervisor = lockHolder(cluster.paths)
  const before = inventory()
  await killHard(supervisor?.pid ?? -1)
  await expectWorking('unsupervised')
  const status = await place.run(['status', '--name', 'lab'])
  expect(status.code).toBe(5)
  expect(status.stderr).toMatch(
    /^error: the supervisor of cluster ".+" does not answer\nhint: .+\n$/,
  )

  cluster.disconnect()
  cluster = await place.up('lab')
  expect(before.pids.filter((pid) => identify(pid) !== undefined)).toEqual([])
  const { client } = cluster
  const deployments = client.resource(resourcesOf(client.dialect).deployments)
  const names = (await deployments.list({ namespace: 'default' })).items.map(
    (one) => one.metadata.name,
  )
  expect(names.toSorted()).toEqual(['supervised', 'unsupervised'])
  await expectWorking('resumed')
})

test('after kill -9 of all processes at once, up goes on at once with what was there', async () => {
  await Promise.all(inventory().pids.map(killHard))
  cluster.disconnect()
  cluster = await place.up('lab')
  await expectWorking('after')
})

test('down ends a cluster of which every process is stopped by SIGSTOP', async () => {
  const before = inventory()
  for (const pid of before.pids) process.kill(pid, 'SIGSTOP')
  const down = await place.run(['down', '--name', 'lab'])
  expect(down).toMatchObject({ code: 0, stdout: 'Cluster "lab" is gone\n' })
  expectNothingLeft(before)
})
