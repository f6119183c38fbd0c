/** Smells: a client with bad habits shows them all, one with good habits none. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { collectRequests } from '../../monitors/requests/collect-requests.ts'
import { collectionSizes } from '../../monitors/smells/collection-sizes.ts'
import { findSmells, smellNames } from '../../monitors/smells/find-smells.ts'
import type { Smell } from '../../monitors/smells/smell.ts'
import { deployment } from '../support/workloads.ts'
import { startLiveCluster, type LiveCluster } from './live-cluster.ts'

const resources = resourcesOf(dialects.kubernetes)
const namespace = 'default'

let live: LiveCluster
beforeAll(async () => {
  live = await startLiveCluster([])
  const configMaps = live.client.resource(resources.configMaps)
  for (let made = 0; made < 100; made += 1)
    await configMaps.create({ metadata: { name: `many-${made}`, namespace } })
})
afterAll(async () => await live[Symbol.asyncDispose]())

/** What the requests of a controller smell of. */
async function smellsOf(user: string, act: (client: Client) => Promise<void>): Promise<Smell[]> {
  const { client } = live
  const opened = Promise.withResolvers<void>()
  const done = Promise.withResolvers<void>()
  const collecting = collectRequests(
    client,
    { userAgent: `${user}/` },
    { until: done.promise, onOpen: opened.resolve },
  )
  await opened.promise
  await act(live.as(user, { groups: ['system:masters'], userAgent: `${user}/1.0` }))
  done.resolve()
  const { records } = await collecting
  return findSmells(records, { sizeOf: await collectionSizes(client, records) })
}

const named = (name: string, more: object = {}): KubeObject => ({
  metadata: { name, namespace },
  ...more,
})
const conflict = (error: unknown): void => {
  if (!isStatusError(error, 'Conflict')) throw error
}

async function badHabits(client: Client): Promise<void> {
  const configMaps = client.resource(resources.configMaps)
  const made = await configMaps.create(named('bad', { data: { a: '1' } }))
  for (let write = 0; write < 3; write += 1)
    await configMaps.patch({ namespace, name: 'bad' }, { data: { a: '1' } }, { type: 'merge' })
  await configMaps.patch({ namespace, name: 'bad' }, { data: { a: '2' } }, { type: 'merge' })
  for (let write = 0; write < 2; write += 1)
    await configMaps.update({ ...made, data: { a: '3' } }).catch(conflict)
  for (let poll = 0; poll < 5; poll += 1) await configMaps.list({ namespace })
  const deployments = client.resource(resources.deployments)
  const web = await deployments.create(deployment('bad') as KubeObject)
  await deployments.update({ ...web, status: { replicas: 7 } })
  for (let watch = 0; watch < 3; watch += 1) {
    const end = new AbortController()
    for await (const _ of configMaps.watch({ namespace }, end.signal)) break
    end.abort()
  }
}

async function goodHabits(client: Client): Promise<void> {
  const configMaps = client.resource(resources.configMaps)
  const owner = await configMaps.get({ namespace, name: 'many-1' })
  const { uid = '' } = owner.metadata
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'many-1', uid, controller: true },
  ]
  const made = await configMaps.create({
    metadata: { name: 'good', namespace, ownerReferences },
    data: { a: '1' },
  })
  await configMaps.patch({ namespace, name: 'good' }, { data: { a: '2' } }, { type: 'merge' })
  await configMaps.update({ ...made, data: { a: '3' } }).catch(conflict)
  const read = await configMaps.get({ namespace, name: 'good' })
  await configMaps.update({ ...read, data: { a: '3' } })
  const list = await configMaps.list({ namespace, limit: 50 })
  await configMaps.list({ namespace, resourceVersion: '0' })
  const end = new AbortController()
  const { resourceVersion = '' } = list.metadata
  const watching = configMaps.watch({ namespace, resourceVersion }, end.signal)
  const first = watching[Symbol.asyncIterator]().next()
  await configMaps.delete({ namespace, name: 'good' })
  await first
  end.abort()
}

describe('smells', () => {
  it('are all found in a client with bad habits, each with an example and how to mend it', async () => {
    const smells = await smellsOf('bad', badHabits)
    expect(new Set(smells.map(({ name }) => name))).toEqual(new Set(smellNames))
    const found = Object.fromEntries(smells.map((one) => [one.name, one]))
    expect(found['unchanged-writes']).toMatchObject({
      text: 'writes of configmaps that change nothing',
      count: 3,
      example: { verb: 'patch', name: 'bad', status: 200, userAgent: 'bad/1.0' },
    })
    expect(found['ignored-conflicts']?.text).toContain('sent again with the same resourceVersion')
    expect(found['large-lists']?.text).toMatch(
      /^lists of all configmaps of namespace default \(10\d objects\)/,
    )
    expect(found['polling']?.text).toContain('list of configmaps default again and again')
    expect(found['status-with-spec']?.example).toMatchObject({
      verb: 'update',
      resource: 'deployments',
    })
    expect(found['watch-restarts']?.count).toBe(3)
    expect(smells.every(({ mend }) => mend.endsWith('.'))).toBe(true)
  })

  it('are not found in one with good habits', async () => {
    expect(
      (await smellsOf('good', goodHabits)).map(({ name, text }) => `${name}: ${text}`),
    ).toEqual([])
  })
})
