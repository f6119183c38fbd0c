/** A cluster of three API servers behind the load balancer, over three etcd members of its own. */
import { request } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterClient } from '../../cluster/cluster-client.ts'
import { openCluster } from '../../cluster/cluster.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { apiServerAddresses } from '../../cluster/history/api-server-clients.ts'
import type { ObjectHistory } from '../../cluster/history/object-history.ts'
import { isAlive, processesMarked } from '../../cluster/state/process-identity.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { requireEtcd } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { killHard, pidOf } from './machine.ts'
import { createPlace } from './place.ts'
import type { Place } from './place.ts'

const namespace = 'default'

function configMapsOf(client: Client) {
  return client.resource(resourcesOf(client.dialect).configMaps)
}

function configMap(name: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } }
}

/** A client with connections of its own, so that the balancer gives it a server of its own. */
function clientOf({ config, paths }: Cluster): Client {
  return clusterClient({ config, paths, clock: systemClock })
}

/** A load by hand: `HA_REQUESTS=200 HA_WATCHES=100`, with how many requests a second and how many watches. */
const { HA_REQUESTS: requests = '98', HA_WATCHES: watches = '6' } = process.env
const writers = Math.ceil(Number(requests) / 16)
/** Watches on one connection. */
const watchesTogether = 10

interface Load {
  /** Names of what was acknowledged. */
  readonly acknowledged: ReadonlySet<string>
  /** Names that watches have shown. */
  readonly watched: readonly ReadonlySet<string>[]
  readonly failures: readonly string[]
  /** What is under way is finished. Resolves with the requests a second. */
  stopWrites(): Promise<number>
  end(): Promise<void>
}

/** Watches from where the last watch has ended; what a watch ends with is a failure unless it is its end. */
async function follow(
  client: Client,
  from: string,
  more: { seen: Set<string>; signal: AbortSignal },
): Promise<void> {
  let resourceVersion = from
  while (!more.signal.aborted) {
    const events = configMapsOf(client).watch({ namespace, resourceVersion }, more.signal)
    for await (const { object } of events) {
      resourceVersion = object.metadata.resourceVersion ?? resourceVersion
      more.seen.add(object.metadata.name ?? '')
    }
  }
}

/** Creates, reads and watches on several connections. A request that fails is noted, and not sent again. */
async function startLoad(cluster: Cluster, prefix: string): Promise<Load> {
  const stop = new AbortController()
  const { signal } = stop
  const acknowledged = new Set<string>()
  const failures: string[] = []
  const watched = Array.from({ length: Number(watches) }, () => new Set<string>())
  const followers = Array.from({ length: Math.ceil(watched.length / watchesTogether) }, () =>
    clientOf(cluster),
  )
  const clients = Array.from({ length: writers }, () => clientOf(cluster))
  const { metadata } = await configMapsOf(cluster.client).list({ namespace })
  const noted = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((error: unknown) => {
      if (!signal.aborted) failures.push(String(error))
    })
  }
  let writes = true
  let sent = 0
  const startedMs = performance.now()
  const write = async (client: Client, index: number): Promise<void> => {
    const pairMs = (1000 * 2 * writers) / Number(requests)
    for (let at = 0; writes; at += 1) {
      const name = `${prefix}-${index}-${at}`
      await delay(Math.max(0, startedMs + at * pairMs - performance.now()))
      await noted(
        (async () => {
          await configMapsOf(client).create(configMap(name))
          acknowledged.add(name)
          await configMapsOf(client).get({ namespace, name })
        })(),
      )
      sent += 2
    }
  }
  const writing = clients.map(write)
  const watching = watched.map((seen, at) => {
    const client = followers[at % followers.length] as Client
    return noted(follow(client, metadata.resourceVersion ?? '', { seen, signal }))
  })
  return {
    acknowledged,
    watched,
    failures,
    stopWrites: async () => {
      writes = false
      await Promise.all(writing)
      return sent / ((performance.now() - startedMs) / 1000)
    },
    end: async () => {
      stop.abort(new Error('the load ends'))
      await Promise.all(watching)
      for (const client of [...clients, ...followers]) client.close()
    },
  }
}

/** Creates with patience: a request whose connection was lost is sent again. Resolves when that many more are acknowledged. */
async function createMore(client: Client, prefix: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
  for (const name of names) {
    await eventually(async () => {
      try {
        await configMapsOf(client).create(configMap(name))
      } catch (error) {
        if (!isStatusError(error, 'AlreadyExists')) throw error
      }
    })
  }
  return names
}

/** What etcd answers to a caller without a client certificate. */
function askEtcd(url: string): Promise<string> {
  return new Promise((resolve) => {
    request(`${url}/version`, { rejectUnauthorized: false, agent: false }, (answer) => {
      resolve(`status ${answer.statusCode}`)
    })
      .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      .end()
  })
}

async function statesOf(cluster: Cluster): Promise<Record<string, string>> {
  const { components } = await cluster.control.call('status', {})
  return Object.fromEntries(components.map(({ name, state }) => [name, state]))
}

requireEtcd()('a cluster of three API servers and three etcd members', () => {
  let place: Place
  let cluster: Cluster
  beforeAll(async () => {
    place = createPlace()
    cluster = await place.up('ha', [
      ...['--store', 'etcd', '--api-servers', '3', '--nodes', '1'],
      ...['--controller-managers', '2', '--schedulers', '2'],
    ])
  })
  afterAll(async () => {
    await place?.[Symbol.asyncDispose]()
  })

  test('shows all its components, and etcd rejects callers without a certificate', async () => {
    expect(await statesOf(cluster)).toEqual({
      ...{ 'etcd-1': 'ready', 'etcd-2': 'ready', 'etcd-3': 'ready' },
      ...{ 'api-server-1': 'ready', 'api-server-2': 'ready', 'api-server-3': 'ready' },
      ...{ 'controller-manager-1': 'ready', 'controller-manager-2': 'ready' },
      ...{ 'scheduler-1': 'ready', 'scheduler-2': 'ready' },
      ...{ 'load-balancer': 'ready', 'node-1': 'ready' },
    })
    const [url = ''] = cluster.config.etcd?.servers ?? []
    expect(await askEtcd(url)).toMatch(/ERR_SSL|ECONNRESET/)
    expect(await place.cluster('ha').skiff('logs', 'etcd-1')).toContain('etcd')
    await place.cluster('ha').skiff('certs', 'check')
  })

  test('the history of an object has the users of all writes, whichever server answered them', async () => {
    const name = 'written-by-all'
    await configMapsOf(cluster.client).create(configMap(name))
    const writersInTurn = Array.from({ length: 6 }, () => clientOf(cluster))
    for (const [at, client] of writersInTurn.entries()) {
      await configMapsOf(client).patch(
        { namespace, name },
        { data: { turn: String(at) } },
        {
          type: 'merge',
        },
      )
      client.close()
    }
    // A server whose lease was late on a loaded machine comes back with its next one.
    await eventually(async () => expect(await apiServerAddresses(cluster.client)).toHaveLength(3))
    const words = ['history', 'configmap', name, '-o', 'json']
    const history = JSON.parse(await place.cluster('ha').skiff(...words)) as ObjectHistory
    expect(history.noJournal).toBeUndefined()
    expect(history.revisions.map(({ author }) => author?.verb)).toEqual([
      'create',
      ...writersInTurn.map(() => 'patch'),
    ])
    expect(new Set(history.revisions.map(({ author }) => author?.user)).size).toBe(1)
  })

  test('writes go on while an API server and an etcd member are killed and stay away, and none is lost', async () => {
    const client = clientOf(cluster)
    const names = await createMore(client, 'before', 5)
    const dead = ['api-server-2', 'etcd-1'] as const
    for (const name of dead) {
      await killHard(await pidOf(cluster, name))
      await cluster.control.call('stop-component', { name })
    }
    names.push(...(await createMore(client, 'without', 20)))
    for (const name of dead.toReversed()) await cluster.control.call('start-component', { name })
    await killHard(await pidOf(cluster, 'load-balancer'))
    names.push(...(await createMore(client, 'again', 5)))
    const { items } = await configMapsOf(client).list({ namespace })
    const found = new Set(items.map(({ metadata }) => metadata.name))
    expect(names.filter((name) => !found.has(name))).toEqual([])
    client.close()
  })

  test('a rolling restart of the API servers under load fails no request and loses no event', async () => {
    const load = await startLoad(cluster, 'load')
    await eventually(() => expect(load.acknowledged.size).toBeGreaterThan(20))
    await place.cluster('ha').skiff('restart', 'api-server')
    const enough = load.acknowledged.size + 20
    await eventually(() => expect(load.acknowledged.size).toBeGreaterThan(enough))
    const perSecond = await load.stopWrites()
    await eventually(() => {
      for (const seen of load.watched)
        expect([...load.acknowledged].filter((name) => !seen.has(name))).toEqual([])
    })
    await load.end()
    expect(load.failures).toEqual([])
    if (process.env['HA_REQUESTS'] === undefined) return
    const { size } = load.acknowledged
    process.stdout.write(
      `${Math.round(perSecond)} requests a second, ${load.watched.length} watches of ${size} objects\n`,
    )
  })

  test('a further machine joins the control plane, and goes on when all servers of the first are gone', async () => {
    const printed = await place
      .cluster('ha')
      .skiff('token', 'create', '--control-plane', '-o', 'json')
    const { token, server, caCertHash, certificateKey } = JSON.parse(printed) as Record<
      string,
      string
    >
    const joining = (key: string): string[] => [
      ...['--control-plane', server ?? '', '--discovery-token-ca-cert-hash', caCertHash ?? ''],
      ...['--token', token ?? '', '--certificate-key', key, '--address', '127.0.0.20'],
    ]
    const wrong = await place.run(['up', '--name', 'other', ...joining('0'.repeat(64))])
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('error: the certificate key does not open the certificates\n')
    const other = await place.up('other', joining(certificateKey ?? ''))
    expect(await createMore(cluster.client, 'shared', 1)).toEqual(['shared-0'])
    await configMapsOf(other.client).get({ namespace, name: 'shared-0' })
    await other.addNode({ name: 'node-of-other' })
    const servers = ['api-server-1', 'api-server-2', 'api-server-3']
    for (const name of servers) await cluster.control.call('stop-component', { name })
    await createMore(other.client, 'alone', 5)
    await other.waitForNodes([{ name: 'node-of-other' }])
    for (const name of servers) await cluster.control.call('start-component', { name })
    await eventually(() => configMapsOf(cluster.client).get({ namespace, name: 'alone-4' }))
    await other.removeNode('node-of-other', { deleteObject: true })
    other.disconnect()
    expect((await place.run(['down', '--name', 'other'])).code).toBe(0)
  })

  test('down leaves nothing, and it starts again with its data after all of it was killed', async () => {
    const { id } = cluster.config
    const before = processesMarked(id)
    expect(before.length).toBe(13)
    cluster.disconnect()
    // As a loss of power: every process at once, the supervisor too.
    for (const { pid } of before) process.kill(pid, 'SIGKILL')
    await eventually(() => expect(before.filter((one) => isAlive(one))).toEqual([]))
    const { code, stderr } = await place.run(['up', '--name', 'ha'])
    expect(stderr).toContain('etcd-1')
    expect(code).toBe(0)
    const again = await openCluster({ name: 'ha', stateRoot: place.stateRoot })
    expect(
      (await configMapsOf(again.client).get({ namespace, name: 'without-19' })).metadata.name,
    ).toBe('without-19')
    again.disconnect()
    expect((await place.run(['down', '--name', 'ha'])).code).toBe(0)
    expect(processesMarked(id)).toEqual([])
    expect(place.leftovers()).toEqual([])
  })
})
