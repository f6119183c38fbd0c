/** Backups: taken under writers, put back in place of a store or as a new cluster, moved to etcd and back; and what is refused. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { backupLines } from '../../cluster/backup/open-backup.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { openCluster } from '../../cluster/cluster.ts'
import { readClusterConfig } from '../../cluster/plan/cluster-config.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { createInformer } from '../../components/client/informer.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { keyValueOf } from '../../components/store/saved-cluster.ts'
import { requireEtcd, startEtcd } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { expectMode } from '../support/file-mode.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const file = (name: string): string => join(place.root, name)
const namespace = 'default'

function configMapsOf({ client }: { client: Client }) {
  return client.resource<KubeObject & { data?: Record<string, string> }>(
    resourcesOf(client.dialect).configMaps,
  )
}

/** Creates and changes ConfigMaps until told to stop; the number of those whose last change was answered. */
function writing(cluster: Cluster): { done(): number; stop(): Promise<void> } {
  const configMaps = configMapsOf(cluster)
  let isStopped = false
  let done = 0
  const running = (async () => {
    while (!isStopped) {
      const name = `w${done}`
      const made = await configMaps.create({ metadata: { name, namespace } })
      await configMaps.update({ ...made, data: { i: String(done) } })
      done += 1
    }
  })()
  running.catch(() => {}) // seen by who stops it
  return {
    done: () => done,
    stop: async () => {
      isStopped = true
      await running
    },
  }
}

async function skiff(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await place.run(words)
  if (code !== 0) throw new Error(`skiff ${words.join(' ')}: ${code}\n${stderr}`)
  return stdout
}

interface Listed {
  readonly uid: string
  readonly resourceVersion: string
  readonly data: unknown
}

/** What no process goes on to write. */
async function objectsOf({ client }: { client: Client }): Promise<Map<string, Listed>> {
  const resources = resourcesOf(client.dialect)
  const found = new Map<string, Listed>()
  for (const resource of [
    resources.configMaps,
    resources.secrets,
    resources.serviceAccounts,
    resources.namespaces,
    resources.clusterRoles,
    resources.storageClasses,
  ]) {
    const { items } = await client.resource(resource).list()
    for (const object of items) {
      const { uid = '', resourceVersion = '', name, namespace: at = '' } = object.metadata
      const { data } = object as { data?: unknown }
      found.set(`${resource.plural}/${at}/${name}`, { uid, resourceVersion, data })
    }
  }
  return found
}

/** The same objects, whatever the numbers of their versions; bootstrap tokens come with each start. */
function contents(objects: Map<string, Listed>): string[] {
  return [...objects]
    .filter(([key]) => !key.includes('bootstrap-token-') && !key.includes('/cluster-info'))
    .map(
      ([key, { uid, data }]) =>
        `${key} ${uid} ${JSON.stringify(Object.entries(data ?? {}).toSorted())}`,
    )
    .toSorted()
}

function informerOf(cluster: Cluster) {
  const informer = createInformer({
    client: configMapsOf(cluster),
    clock: systemClock,
    log: silentLog,
  })
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  ends.push(async () => {
    stop.abort()
    await running.catch(() => {})
  })
  return informer
}

const pathsOf = (name: string) => statePaths(place.stateRoot, name)

test('a backup under writers holds all that was acknowledged, and takes the place of the store; an informer and old versions live through it', async () => {
  const cluster = await place.up('shop', ['--nodes', '1'])
  const configMaps = configMapsOf(cluster)
  await cluster.client.resource(resourcesOf(cluster.client.dialect).secrets).create({
    metadata: { name: 'pass', namespace },
    stringData: { word: 'correct-horse' },
  })
  const writer = writing(cluster)
  await eventually(() => expect(writer.done()).toBeGreaterThan(20))
  const acknowledged = writer.done()
  const target = file('shop.backup')
  const result = JSON.parse(await skiff('backup', '--name', 'shop', target, '-o', 'json'))
  await writer.stop()
  expect(result).toMatchObject({ name: 'shop', file: target, from: 'running', encrypted: false })
  expectMode(target, 0o600)
  expect(await skiff('backup', 'verify', target)).toMatch(/is whole: \d+ parts/)
  expect((await place.run(['backup', '--name', 'shop', target])).code).toBe(4)

  // One revision: the writer's first objects without a gap, each as it was acknowledged.
  const saved = new Map<string, string>()
  for await (const { part, line } of backupLines({ path: target, keys: {} })) {
    const kv = part.includes('configmaps') ? keyValueOf(line) : undefined
    if (kv === undefined) continue
    expect(kv.modRevision).toBeLessThanOrEqual(result.revision)
    const object = JSON.parse(kv.value.toString())
    saved.set(object.metadata.name, object.data?.i)
  }
  for (let at = 0; at < acknowledged; at += 1) expect(saved.get(`w${at}`)).toBe(String(at))

  const informer = informerOf(cluster)
  const after = await configMaps.create({ metadata: { name: 'after', namespace } })
  const changed = await configMaps.get({ name: 'w0', namespace })
  const late = await configMaps.update({ ...changed, data: { i: 'later' } })
  await eventually(() => {
    expect(informer.get('default/after')?.metadata.uid).toBe(after.metadata.uid)
    expect(informer.get('default/w0')?.data).toEqual({ i: 'later' })
  })
  const refused = await place.run(['restore', '--name', 'shop', '--force', target])
  expect([refused.code, refused.stderr]).toEqual([
    4,
    expect.stringMatching(
      /error: cluster "shop" runs \(supervisor: pid \d+\)\nhint: stop it first/,
    ),
  ])
  await skiff('down', '--keep-data', '--name', 'shop')
  expect((await place.run(['restore', '--name', 'shop', target])).code).toBe(4)
  const restored = JSON.parse(
    await skiff('restore', '--name', 'shop', '--force', target, '-o', 'json'),
  )
  expect(restored).toMatchObject({ isNew: false, from: result.revision, objects: result.objects })
  expect(existsSync(restored.former)).toBe(true)
  const again = await place.up('shop')

  // The informer, of a client from before, sees the state of the backup.
  await eventually(() => {
    expect(informer.get('default/after')).toBeUndefined()
    expect(informer.get('default/w0')?.data).toEqual({ i: '0' })
    expect(informer.get('default/w0')?.metadata.uid).toBe(changed.metadata.uid)
  }, 60_000)
  const list = await configMaps.list({ namespace })
  const names = list.items.map(({ metadata }) => metadata.name)
  expect(names.filter((name = '') => /^w\d+$/.test(name)).length).toBe(
    [...saved.keys()].filter((name) => /^w\d+$/.test(name)).length,
  )
  // No version from before is taken for one of now, in writes, watches and lists.
  const versions = [changed, late, after].map(({ metadata }) => metadata.resourceVersion ?? '')
  for (const resourceVersion of versions) {
    const stale = { ...late, metadata: { ...late.metadata, resourceVersion } }
    await expect(configMaps.update(stale)).rejects.toMatchObject({ reason: 'Conflict' })
    const exact = `resourceVersionMatch=Exact&resourceVersion=${resourceVersion}&limit=500`
    await expect(
      again.client.rest.json({ method: 'GET', path: `/api/v1/configmaps?${exact}` }),
    ).rejects.toMatchObject({ code: 410 })
    expect(Number(list.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion))
  }
  for (const { metadata } of list.items)
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(Math.max(...versions.map(Number)))
  again.disconnect()
  cluster.disconnect()
}, 240_000)

test('a cluster that is gone comes back from its encrypted backup: the same nodes, kubeconfigs and tokens', async () => {
  const cluster = await place.up('gone', ['--nodes', '1', '--simulated-nodes', '2'])
  const { client } = cluster
  const accounts = client.resource(resourcesOf(client.dialect).serviceAccounts)
  const { status } = (await client.rest.json({
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts/default/token',
    body: { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: {} },
  })) as { status: { token: string } }
  await accounts.get({ name: 'default', namespace })
  writeFileSync(file('pass'), 'correct horse\n')
  writeFileSync(file('wrong'), 'battery\n')
  const target = file('gone.backup')
  await skiff('backup', '--name', 'gone', target, '--passphrase-file', file('pass'))
  expect(readFileSync(target).includes('PRIVATE KEY')).toBe(false)
  const before = await objectsOf(cluster)
  const nodesBefore = await client.resource(resourcesOf(client.dialect).nodes).list()
  const { port } = cluster.config
  await skiff('down', '--name', 'gone')
  for (const words of [[], ['--passphrase-file', file('wrong')]]) {
    const refused = await place.run(['restore', '--name', 'gone', target, ...words])
    expect([refused.code, existsSync(pathsOf('gone').dir)]).toEqual([1, false])
    expect(refused.stderr).toMatch(/is encrypted: pass|the key is wrong/)
  }
  await skiff('restore', '--name', 'gone', target, '--passphrase-file', file('pass'))
  expect(readClusterConfig(pathsOf('gone'))?.port).toBe(port)
  const again = await place.up('gone')
  // The client from before, with its certificate and authority.
  expect(contents(await objectsOf(cluster))).toEqual(contents(before))
  const nodes = await again.client.resource(resourcesOf(client.dialect).nodes).list()
  const uids = (list: typeof nodes): unknown[] => list.items.map(({ metadata }) => metadata.uid)
  expect(uids(nodes)).toEqual(uids(nodesBefore))
  const asAccount = again.clientAs({ token: status.token })
  await expect(
    asAccount.resource(resourcesOf(client.dialect).secrets).list(),
  ).rejects.toMatchObject({
    reason: 'Forbidden',
  })
  asAccount.close()
  again.disconnect()
  cluster.disconnect()
}, 240_000)

test('what is damaged, of another cluster, or has no place is refused in one line, and changes nothing', async () => {
  const cluster = await place.up('other', ['--nodes', '0'])
  cluster.disconnect()
  await skiff('down', '--keep-data', '--name', 'other')
  const target = file('shop.backup')
  const damaged = readFileSync(target)
  writeFileSync(file('cut.backup'), damaged.subarray(0, damaged.length >> 1))
  // In the content of the first part with objects, behind its header.
  const at = damaged.indexOf('objects/') + 520
  damaged[at] = (damaged[at] ?? 0) ^ 1
  writeFileSync(file('damaged.backup'), damaged)
  mkdirSync(file('folder'))
  const store = readFileSync(pathsOf('other').store)
  const config = readFileSync(pathsOf('other').config)
  const cases: [words: string[], code: number, error: RegExp][] = [
    [['backup', 'verify', file('damaged.backup')], 1, /is damaged in objects\/\S+\.ndjson\.gz/],
    [['backup', 'verify', file('cut.backup')], 1, /is cut short (in|after) \S+/],
    [['restore', '--name', 'new', file('damaged.backup')], 1, /is damaged in objects/],
    [['restore', '--name', 'other', '--force', file('damaged.backup')], 1, /is damaged in objects/],
    [['restore', '--name', 'other', '--force', target], 1, /is a backup of another cluster/],
    [['restore', '--name', 'new', file('missing')], 1, /no such file or directory/],
    [['restore', '--name', 'new', file('folder')], 1, /is not a file/],
    [['restore', '--name', 'new', '--to', 'mysql', target], 2, /invalid store "mysql"/],
    [['backup', '--name', 'nobody', file('x')], 3, /there is no cluster "nobody"/],
    [['backup', '--name', 'other', file('no/folder')], 1, /no such file or directory/],
    [['backup', '--name', 'other', '--force', file('folder')], 1, /is not a file/],
    [['backup', '--name', 'other', '--encrypt', file('x')], 2, /--encrypt needs a passphrase/],
    [['backup', '--name', 'other', '--recipient', 'me', file('x')], 2, /not a recipient of age/],
    [['migrate-store', '--name', 'other'], 2, /needs --to/],
    [['migrate-store', '--name', 'other', '--to', 'sqlite'], 2, /has this store/],
    [
      ['migrate-store', '--name', 'other', '--to', 'etcd:http://127.0.0.1:1'],
      1,
      /the store cannot be used: etcd cannot be used/,
    ],
  ]
  for (const [words, code, error] of cases) {
    const outcome = await place.run(words)
    const line = outcome.stderr.split('\n').find((one) => one.startsWith('error: ')) ?? ''
    expect([words, outcome.code, line]).toEqual([words, code, expect.stringMatching(error)])
  }
  expect(existsSync(file('x'))).toBe(false)
  expect(existsSync(pathsOf('new').dir)).toBe(false)
  expect(readFileSync(pathsOf('other').store).equals(store)).toBe(true)
  expect(readFileSync(pathsOf('other').config).equals(config)).toBe(true)

  // A stopped cluster is backed up, too; and one whose restore was interrupted does not start.
  await skiff('backup', '--name', 'other', file('other.backup'))
  writeFileSync(pathsOf('other').replacing, 'skiff restore')
  const halfway = await place.run(['up', '--name', 'other'])
  expect([halfway.code, halfway.stderr]).toEqual([
    1,
    expect.stringContaining('error: `skiff restore` of cluster "other" was interrupted\n'),
  ])
  rmSync(pathsOf('other').store)
  await skiff('restore', '--name', 'other', '--force', file('other.backup'))
  const again = await place.up('other')
  again.disconnect()
}, 240_000)

requireEtcd()('with a real etcd', () => {
  test('a cluster moves to etcd and back, and is restored into an etcd, in the way of nothing there', async () => {
    const etcd = await startEtcd()
    ends.push(() => etcd.kill())
    const cluster = await place.up('moved', ['--nodes', '1'])
    const configMaps = configMapsOf(cluster)
    const informer = informerOf(cluster)
    const first = await configMaps.create({ metadata: { name: 'a', namespace }, data: { k: '1' } })
    const paths = pathsOf('moved')
    const before = await objectsOf(cluster)
    const to = ['--to', `etcd:${etcd.url}`]

    await skiff('down', '--keep-data', '--name', 'moved')
    const result = JSON.parse(await skiff('migrate-store', '--name', 'moved', ...to, '-o', 'json'))
    expect(existsSync(result.former)).toBe(true)
    expect(existsSync(paths.store)).toBe(false)
    const onEtcd = await place.up('moved')
    expect(contents(await objectsOf(onEtcd))).toEqual(contents(before))
    const moved = await configMaps.get({ name: 'a', namespace })
    expect(Number(moved.metadata.resourceVersion)).toBeGreaterThan(
      Number(first.metadata.resourceVersion),
    )
    await expect(configMaps.update({ ...first, data: { k: '2' } })).rejects.toMatchObject({
      reason: 'Conflict',
    })
    const second = await configMaps.update({ ...moved, data: { k: '2' } })
    await eventually(() => expect(informer.get('default/a')?.data).toEqual({ k: '2' }), 60_000)

    const target = file('moved.backup')
    await skiff('backup', '--name', 'moved', target)
    await configMaps.update({ ...second, data: { k: 'lost' } })
    const atBackup = await objectsOf(onEtcd)
    await skiff('down', '--keep-data', '--name', 'moved')
    const restored = JSON.parse(
      await skiff('restore', '--name', 'moved', '--force', target, '-o', 'json'),
    )
    expect(restored.former).toContain('/registry/')
    const again = await place.up('moved')
    await eventually(() => expect(informer.get('default/a')?.data).toEqual({ k: '2' }), 60_000)
    const third = await configMaps.get({ name: 'a', namespace })
    for (const { resourceVersion } of atBackup.values())
      expect(Number(third.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion))
    await configMaps.update({ ...third, data: { k: '3' } })
    await eventually(() => expect(informer.get('default/a')?.data).toEqual({ k: '3' }), 60_000)

    const last = await objectsOf(again)
    await skiff('down', '--keep-data', '--name', 'moved')
    await skiff('migrate-store', '--name', 'moved', '--to', 'sqlite')
    const back = await openUp('moved')
    expect(contents(await objectsOf(back))).toEqual(contents(last))
    const fourth = await configMaps.get({ name: 'a', namespace })
    expect(fourth.metadata.resourceVersion).toBe(last.get('configmaps/default/a')?.resourceVersion)
    await configMaps.update({ ...fourth, data: { k: '4' } })
    await eventually(() => expect(informer.get('default/a')?.data).toEqual({ k: '4' }), 60_000)
    for (const one of [cluster, onEtcd, again, back]) one.disconnect()
  }, 300_000)

  test('a cluster with etcd members of its own is saved, restored and moved while they are stopped', async () => {
    const target = file('members.backup')
    const namesIn = async (cluster: Cluster): Promise<(string | undefined)[]> => {
      const { items } = await configMapsOf(cluster).list({ namespace })
      cluster.disconnect()
      return items.map(({ metadata }) => metadata.name).filter((name) => name?.length === 1)
    }
    const cluster = await place.up('members', ['--nodes', '0', '--store', 'etcd'])
    await configMapsOf(cluster).create({ metadata: { name: 'a', namespace } })
    await skiff('backup', '--name', 'members', target)
    await configMapsOf(cluster).create({ metadata: { name: 'b', namespace } })
    cluster.disconnect()

    await skiff('down', '--keep-data', '--name', 'members')
    await skiff('save', 'members', file('members.skiff'))
    await skiff('restore', '--name', 'members', '--force', target)
    expect(await namesIn(await place.up('members'))).toEqual(['a'])

    await skiff('down', '--keep-data', '--name', 'members')
    await skiff('migrate-store', '--name', 'members', '--to', 'sqlite')
    expect(await namesIn(await place.up('members'))).toEqual(['a'])
    expect(readClusterConfig(pathsOf('members'))?.etcd).toBeUndefined()

    // Its files are gone, the members' certificates among them.
    await skiff('down', '--name', 'members')
    await skiff('restore', '--name', 'members', target)
    expect(await namesIn(await place.up('members'))).toEqual(['a'])
    expect(readClusterConfig(pathsOf('members'))?.etcd?.own?.members).toHaveLength(1)
  }, 240_000)
})

async function openUp(name: string): Promise<Cluster> {
  await place.up(name)
  return await openCluster({ name, stateRoot: place.stateRoot })
}
