/** A new cluster of processes begins with the base image of the build, and holds what it would have written itself. */
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { openSavedFile } from '../../components/store/saved-cluster-file.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

const uids = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g

/** What controllers write when they get to it is there. */
async function untilSettled({ client }: Cluster): Promise<void> {
  const { configMaps } = resourcesOf(client.dialect)
  await eventually(async () => {
    const { items } = await client.resource(configMaps).list({})
    const roots = items.filter(({ metadata }) => metadata.name === 'kube-root-ca.crt')
    expect(roots).toHaveLength(4)
  }, 60_000)
}

/** Key -> object as text, without what differs from cluster to cluster. */
async function contentOf(name: string, port: number): Promise<Map<string, string>> {
  const path = join(place.root, `${name}.saved`)
  const { code, stderr } = await place.run(['save', name, path])
  expect(code, stderr).toBe(0)
  await using saved = await openSavedFile(path)
  const content = new Map<string, string>()
  for await (const { key, value } of saved.kvs) {
    // What depends on the moment: which accounts controllers have asked for, and who spoke first to a new API.
    if (/^\/registry\/(events|serviceaccounts\/kube-system|leases)\//.test(key)) continue
    const { metadata, ...rest } = JSON.parse(value.toString())
    const { managedFields: _, resourceVersion: __, creationTimestamp: ___, ...identity } = metadata
    const text = JSON.stringify({ ...rest, metadata: identity })
      .replaceAll(/-----BEGIN.*?END CERTIFICATE-----(\\n)?/g, 'PEM')
      .replaceAll(`:${port}`, ':PORT')
      .replaceAll(`"port":${port}`, '"port":PORT')
      .replaceAll(uids, 'UID')
      .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, 'TIME')
    content.set(key, text)
  }
  return content
}

test('a new cluster holds the same from the image as without one, and begins with it', async () => {
  const usual = await place.up('usual', ['--nodes', '0'])
  // Any flag of the API server may ask for other objects.
  const flags = ['--nodes', '0', '--set', 'api-server.event-ttl=2h']
  const written = await place.up('written', flags)
  await Promise.all([untilSettled(usual), untilSettled(written)])
  const from = await contentOf('usual', Number(new URL(usual.server).port))
  const without = await contentOf('written', Number(new URL(written.server).port))
  expect([...from.keys()]).toEqual([...without.keys()])
  expect(from).toEqual(without)

  // The image is in the order of its keys: a server that writes its objects itself begins with a namespace.
  const versionOf = async (
    { client }: Cluster,
    kind: 'namespaces' | 'flowSchemas',
    name: string,
  ) => {
    const { metadata } = await client.resource(resourcesOf(client.dialect)[kind]).get({ name })
    return Number(metadata.resourceVersion)
  }
  const beginsWithNamespace = async (cluster: Cluster): Promise<boolean> =>
    (await versionOf(cluster, 'namespaces', 'kube-public')) <
    (await versionOf(cluster, 'flowSchemas', 'catch-all'))
  expect(await beginsWithNamespace(usual)).toBe(false)
  expect(await beginsWithNamespace(written)).toBe(true)
}, 120_000)

test('a cluster that comes back keeps its own objects', async () => {
  const { client } = await place.up('back', ['--nodes', '0'])
  const roles = client.resource(resourcesOf(client.dialect).clusterRoles)
  const { metadata } = await roles.get({ name: 'view' })
  await place.cluster('back').skiff('down', '--keep-data')
  const again = await place.up('back')
  const same = await again.client
    .resource(resourcesOf(client.dialect).clusterRoles)
    .get({ name: 'view' })
  expect(same.metadata.uid).toBe(metadata.uid)
}, 120_000)
