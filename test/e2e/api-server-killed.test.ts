/** The API server is killed again and again under writers; what it acknowledged is held against what is there. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { openCluster } from '../../cluster/cluster.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { eventually } from '../support/eventually.ts'
import { createLedger, namespace } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { killHard, pidOf } from './machine.ts'
import { createPlace } from './place.ts'

/** `npm run soak` goes on with more of them. */
const kills = 10
const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

async function listConfigMaps({
  client,
}: Cluster): Promise<{ items: KubeObject[]; version: number }> {
  const list = await client.resource(resourcesOf(client.dialect).configMaps).list({ namespace })
  return { items: list.items, version: Number(list.metadata.resourceVersion) }
}

/** A watch that goes on where it ended, over restarts of the server; it lists again when that history is gone. */
interface Watcher {
  /** By name: the state that lists and events amount to. */
  readonly objects: ReadonlyMap<string, KubeObject>
  /** resourceVersion of each event, as they came. */
  readonly versions: readonly number[]
  /** What lists stood in for: after the first version, up to the second. */
  readonly skipped: readonly (readonly [number, number])[]
  /** How far it has come. */
  readonly reached: () => number
  readonly ended: Promise<void>
}

function watchConfigMaps(client: Cluster['client'], ledger: Ledger, signal: AbortSignal): Watcher {
  const configMaps = client.resource(resourcesOf(client.dialect).configMaps)
  const objects = new Map<string, KubeObject>()
  const versions: number[] = []
  const skipped: [number, number][] = []
  let reached = 0
  let mustList = true
  const round = async (): Promise<void> => {
    if (mustList) {
      const list = await configMaps.list({ namespace }, signal)
      objects.clear()
      for (const item of list.items) objects.set(item.metadata.name ?? '', item)
      const version = Number(list.metadata.resourceVersion)
      skipped.push([reached, version])
      reached = version
      mustList = false
    }
    const resourceVersion = String(reached)
    for await (const event of configMaps.watch({ namespace, resourceVersion }, signal)) {
      const { name = '', resourceVersion: version } = event.object.metadata
      reached = Number(version)
      versions.push(reached)
      ledger.sawVersion(version)
      if (event.type === 'DELETED') objects.delete(name)
      else objects.set(name, event.object)
    }
  }
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await round()
      } catch (error) {
        if (signal.aborted) return
        if (isStatusError(error, 'Expired', 'Gone')) mustList = true
        else if (!(error instanceof ConnectionError)) throw error
        await delay(10)
      }
    }
  }
  const ended = run()
  ended.catch(() => {}) // awaited at the end
  return { objects, versions, skipped, reached: () => reached, ended }
}

/** Kills the API server once some more writes were acknowledged; every fifth time also the next one while it starts. */
async function killOnce(cluster: Cluster, ledger: Ledger, round: number): Promise<void> {
  const enough = ledger.counts.acknowledged + 20 + 17 * (round % 7)
  await eventually(() => expect(ledger.counts.acknowledged).toBeGreaterThan(enough))
  const pid = await pidOf(cluster, 'api-server')
  await killHard(pid)
  ledger.serverDied()
  if (round % 5 !== 0) return
  const next = await eventually(async () => {
    const starting = await pidOf(cluster, 'api-server')
    expect(starting).not.toBe(pid)
    return starting
  })
  await delay(30 * (round % 4))
  await killHard(next)
  ledger.serverDied()
}

test(`over ${kills} kills of the API server under concurrent writers nothing acknowledged is lost, nothing deleted comes back, and no resourceVersion goes backwards`, async () => {
  // A leader that cannot renew for long ends, as upstream's; here that is not to be the reason of a restart.
  const patience = ['scheduler', 'controller-manager'].flatMap((name) => [
    '--set',
    `${name}.leader-elect-lease-duration=90s`,
    '--set',
    `${name}.leader-elect-renew-deadline=60s`,
  ])
  const cluster = await place.up('lab', ['--nodes', '1', ...patience])
  const ledger = createLedger()
  const clients = [cluster.client, cluster.clientAs('admin'), cluster.clientAs('admin')]
  const watching = new AbortController()
  const watcher = watchConfigMaps(cluster.clientAs('admin'), ledger, watching.signal)
  const stop = new AbortController()
  const writers = clients.flatMap((client, connection) =>
    Array.from({ length: 5 }, (_, index) =>
      ledger.write(client, `writer-${connection}-${index}`, stop.signal),
    ),
  )
  const writing = Promise.all(writers)
  const killing = async (): Promise<void> => {
    for (let round = 1; round <= kills; round += 1) await killOnce(cluster, ledger, round)
  }
  try {
    await Promise.race([killing(), writing])
  } finally {
    stop.abort()
  }
  await writing
  expect(ledger.counts.acknowledged).toBeGreaterThan(50 * kills)
  expect(ledger.counts.deleted).toBeGreaterThan(5 * kills)
  expect(ledger.counts.unknown).toBeGreaterThan(kills)

  const { items, version } = await listConfigMaps(cluster)
  expect(ledger.contradictions(items)).toEqual([])
  expect(version).toBeGreaterThanOrEqual(Math.max(...ledger.acknowledgedVersions))

  // The watch has seen every write once, in order, and arrives at the same state.
  const newest = Math.max(...items.map((item) => Number(item.metadata.resourceVersion)))
  await eventually(() => expect(watcher.reached()).toBeGreaterThanOrEqual(newest))
  watching.abort()
  await watcher.ended
  const { versions, skipped } = watcher
  expect(versions.filter((one, index) => one <= (versions[index - 1] ?? 0))).toEqual([])
  // The one list is the first: after each kill the watch goes on where it was.
  expect(skipped).toHaveLength(1)
  const seen = new Set(versions)
  const isCovered = (one: number) =>
    seen.has(one) || skipped.some(([from, to]) => from < one && one <= to)
  expect([...ledger.acknowledgedVersions].filter((one) => !isCovered(one))).toEqual([])
  expect(seen.size).toBeGreaterThanOrEqual(ledger.acknowledgedVersions.size - 5)
  const states = (all: Iterable<KubeObject>) =>
    [...all].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted()
  expect(states(watcher.objects.values())).toEqual(states(items))

  await cluster.waitForNodes(cluster.config.nodes, { waitMs: 90_000 })
  const { components } = await cluster.control.call('status', {})
  const restarts = Object.fromEntries(components.map((one) => [one.name, one.restarts]))
  expect(restarts).toEqual({
    'api-server': kills + Math.floor(kills / 5),
    'controller-manager': 0,
    scheduler: 0,
    'node-1': 0,
  })

  const stopped = await place.run(['down', '--keep-data', '--name', 'lab'])
  expect(stopped).toMatchObject({ code: 0 })
  const database = new DatabaseSync(join(cluster.paths.dir, 'state.db'), { readOnly: true })
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  database.close()
  await place.up('lab')
  const resumed = await openCluster({ name: 'lab', stateRoot: place.stateRoot })
  const after = await listConfigMaps(resumed)
  resumed.disconnect()
  expect(states(after.items)).toEqual(states(items))
})
