/** Clusters as files: saved while clients write, started from the file, saved again when stopped; and what is refused. */
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openCluster } from '../../cluster/cluster.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { splitStoreKey } from '../../components/api-server/watch-cache/store-keys.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { openSavedFile } from '../../components/store/saved-cluster-file.ts'
import type { KeyValue } from '../../components/store/store.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'
import { expectMode } from '../support/file-mode.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

const file = (name: string): string => join(place.root, name)

const web: KubeObject = {
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web:1' }] },
    },
  },
}

interface Deployment extends KubeObject {
  readonly status?: { readonly readyReplicas?: number; readonly updatedReplicas?: number }
}

async function untilReady(client: Client, replicas: number): Promise<void> {
  const deployments = client.resource<Deployment>(resourcesOf(client.dialect).deployments)
  await eventually(async () => {
    const { status } = await deployments.get({ namespace: 'default', name: 'web' })
    expect(status?.readyReplicas).toBe(replicas)
  }, 60_000)
}

/** Creates and changes ConfigMaps until it is told to stop; the names of those whose creation was answered. */
function writing(client: Client): { stop(): Promise<string[]> } {
  const configMaps = client.resource(resourcesOf(client.dialect).configMaps)
  let isStopped = false
  const run = async (): Promise<string[]> => {
    const names: string[] = []
    for (let i = 0; !isStopped; i += 1) {
      const name = `w${i}`
      const made = await configMaps.create({ metadata: { name, namespace: 'default' } })
      await configMaps.update({ ...made, data: { i: String(i) } })
      names.push(name)
    }
    return names
  }
  const done = run()
  done.catch(() => {}) // seen by the test that stops it
  return {
    stop: () => {
      isStopped = true
      return done
    },
  }
}

async function keysOf(path: string): Promise<{ revision: number; kvs: KeyValue[] }> {
  await using saved = await openSavedFile(path)
  return { revision: saved.header.revision, kvs: await Array.fromAsync(saved.kvs) }
}

/** What controllers and agents go on to write in any cluster that runs. */
const moving =
  /\/(events|leases|minions|pods|replicasets|deployments|endpoints|endpointslices|csinodes|certificatesigningrequests|storageversions|flowschemas|prioritylevelconfigurations|apiservices)\/|kube-root-ca\.crt|extension-apiserver-authentication|cluster-info|\/default\/kubernetes$/

interface Named {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
  }
}

async function objectsOf(cluster: Cluster): Promise<Map<string, string>> {
  const { client } = cluster
  const resources = resourcesOf(client.dialect)
  const found = new Map<string, string>()
  for (const resource of [
    resources.configMaps,
    resources.secrets,
    resources.services,
    resources.serviceAccounts,
    resources.namespaces,
    resources.clusterRoles,
    resources.roles,
    resources.customResourceDefinitions,
    resources.storageClasses,
  ]) {
    const { items } = await client.resource(resource).list()
    for (const { metadata } of items as unknown as Named[]) {
      const key = `${resource.plural}/${metadata.namespace ?? ''}/${metadata.name}`
      found.set(key, `${metadata.uid} ${metadata.resourceVersion}`)
    }
  }
  return found
}

test('a cluster that is saved under writes starts from the file with the same objects and resourceVersions, and its Deployment runs on', async () => {
  const cluster = await place.up('lab', ['--nodes', '2'])
  const { client } = cluster
  const resources = resourcesOf(client.dialect)
  await client.resource(resources.deployments).create(web)
  await client.resource(resources.secrets).create({
    metadata: { name: 'pass', namespace: 'default' },
    stringData: { word: 'correct-horse' },
  })
  await untilReady(client, 3)
  const writer = writing(client)
  const outcome = await place.run(['save', 'lab', file('lab.skiff'), '-o', 'json'])
  const written = await writer.stop()
  expect(outcome.code, outcome.stderr).toBe(0)
  const result = JSON.parse(outcome.stdout) as { revision: number; objects: number; from: string }
  expect(result).toMatchObject({ name: 'lab', file: file('lab.skiff'), from: 'running' })
  expectMode(file('lab.skiff'), 0o600)

  // One revision: of the writer's objects the first ones, without a gap, and nothing later.
  const { kvs, revision } = await keysOf(file('lab.skiff'))
  expect([revision, kvs.length]).toEqual([result.revision, result.objects])
  const ofWriter = kvs.filter(({ key }) => /\/configmaps\/default\/w\d+$/.test(key))
  const numbers = ofWriter.map(({ key }) => Number(/\d+$/.exec(key)?.[0])).toSorted((a, b) => a - b)
  expect(numbers).toEqual(numbers.map((_, i) => i))
  expect(numbers.length).toBeLessThanOrEqual(written.length)
  expect(kvs.every(({ modRevision }) => modRevision <= revision)).toBe(true)

  const copy = await place.up('copy', ['--from', file('lab.skiff')])
  expect(copy.config.nodes).toEqual(cluster.config.nodes)
  const there = await objectsOf(copy)
  let compared = 0
  for (const { key, value, modRevision } of kvs) {
    if (moving.test(key)) continue
    const { metadata } = JSON.parse(value.toString()) as Named
    const plural = splitStoreKey(key)?.prefix.split('/')[1] ?? ''
    const name = `${plural}/${metadata.namespace ?? ''}/${metadata.name}`
    if (![...there.keys()].some((one) => one.startsWith(`${plural}/`))) continue
    expect([name, there.get(name)]).toEqual([name, `${metadata.uid} ${modRevision}`])
    compared += 1
  }
  expect(compared).toBeGreaterThan(50)
  await untilReady(copy.client, 3)
  const { items: pods } = await copy.client.resource(resources.pods).list({ namespace: 'default' })
  const before = new Set(
    kvs
      .filter(({ key }) => key.includes('/pods/default/'))
      .map(({ value }) => (JSON.parse(value.toString()) as Named).metadata.uid),
  )
  expect(new Set(pods.map(({ metadata }) => metadata.uid))).toEqual(before)

  // It is worked on: a change makes new pods, on the copy alone.
  await copy.client
    .resource(resources.deployments)
    .patch({ namespace: 'default', name: 'web' }, { spec: { replicas: 5 } }, { type: 'merge' })
  await untilReady(copy.client, 5)
  await untilReady(client, 3)

  // The credentials of the first cluster are none in the second.
  const theirs = copy.clientAs({ token: 'abcdef.0123456789abcdef' })
  await expect(theirs.resource(resources.pods).list()).rejects.toMatchObject({
    reason: 'Unauthorized',
  })
  theirs.close()
  // It starts again without the file.
  expect(existsSync(copy.paths.startsFrom)).toBe(false)
  await place.cluster('copy').skiff('restart', 'api-server')
  await untilReady(copy.client, 5)
  cluster.disconnect()
  copy.disconnect()
}, 180_000)

test('a stopped cluster is saved as it was, without Secrets if asked; nothing changes in it', async () => {
  const cluster = await place.up('idle', ['--nodes', '0'])
  const { client } = cluster
  await client.resource(resourcesOf(client.dialect).secrets).create({
    metadata: { name: 'pass', namespace: 'default' },
    stringData: { word: 'correct-horse' },
  })
  cluster.disconnect()
  await place.run(['down', '--keep-data', '--name', 'idle'])
  const first = await place.run(['save', 'idle', file('idle.skiff')])
  // A step that takes long is shown.
  expect(first).toMatchObject({ code: 0, stderr: expect.stringMatching(/^( ✓ save .*\n)?$/) })
  expect(first.stdout).toMatch(/idle\.skiff: \d+ objects at resourceVersion \d+, \d+ KB\n$/)
  await place.run(['save', 'idle', file('bare.skiff'), '--without-secrets'])
  const whole = await keysOf(file('idle.skiff'))
  const bare = await keysOf(file('bare.skiff'))
  expect(bare.revision).toBe(whole.revision)
  expect(bare.kvs.length).toBe(whole.kvs.length)
  const passOf = ({ kvs }: { kvs: KeyValue[] }): string =>
    kvs.find(({ key }) => key.endsWith('/secrets/default/pass'))!.value.toString()
  expect(passOf(whole)).toContain(Buffer.from('correct-horse').toString('base64'))
  expect(passOf(bare)).not.toContain('"data"')
}, 120_000)

test('a cluster whose API server is stopped is not saved behind its back', async () => {
  const cluster = await openCluster({ name: 'copy', stateRoot: place.stateRoot })
  await cluster.control.call('stop-component', { name: 'api-server' })
  const { code, stderr } = await place.run(['save', 'copy', file('copy.skiff')])
  expect([code, stderr.split('\n')[0]]).toEqual([
    1,
    expect.stringMatching(
      /^error: cluster "copy" runs \(supervisor: pid \d+\), but its API server does not answer$/,
    ),
  ])
  await cluster.control.call('start-component', { name: 'api-server' })
  cluster.disconnect()
  const again = await place.run(['save', 'copy', file('copy.skiff')])
  expect(again.code, again.stderr).toBe(0)
}, 60_000)

test('a cluster whose start from a file was interrupted does not start half', async () => {
  const { startsFrom } = statePaths(place.stateRoot, 'idle')
  writeFileSync(startsFrom, file('idle.skiff'))
  const { code, stderr } = await place.run(['up', '--name', 'idle'])
  expect([code, stderr.split('\n')[0]]).toEqual([
    1,
    `error: the start of cluster "idle" from ${file('idle.skiff')} was interrupted`,
  ])
  rmSync(startsFrom)
})

test('bad input is one line, and leaves nothing', async () => {
  const clusters = readdirSync(place.stateRoot, { recursive: true }).length
  writeFileSync(file('text.skiff'), 'hello')
  const cases: [words: string[], code: number, error: string][] = [
    [['save', 'nobody', file('x')], 3, 'there is no cluster "nobody"'],
    [['save', 'lab'], 2, 'skiff save needs FILE'],
    [['save', 'lab', place.root], 1, `${place.root} is a directory, not a file`],
    [['save', 'lab', file('no/folder')], 1, `${file('no/folder')}: no such file or directory`],
    [
      ['up', '--name', 'new', '--from', file('missing')],
      1,
      `${file('missing')}: no such file or directory`,
    ],
    [
      ['up', '--name', 'new', '--from', file('text.skiff')],
      1,
      `${file('text.skiff')} is not a saved cluster`,
    ],
    [
      ['up', '--name', 'new', '--from', file('idle.skiff'), '--dialect', 'svc'],
      2,
      `${file('idle.skiff')} is a cluster of the dialect kubernetes`,
    ],
    [['up', '--name', 'idle', '--from', file('idle.skiff')], 4, 'cluster "idle" already exists'],
    [['import'], 2, 'skiff import needs either FILE or --into CLUSTER'],
    [['import', 'a.yaml', '--into', 'lab'], 2, 'skiff import needs either FILE or --into CLUSTER'],
    [
      ['import', '--kubeconfig', file('missing'), file('a.yaml')],
      2,
      `cannot read kubeconfig ${file('missing')}: `,
    ],
  ]
  for (const [words, code, error] of cases) {
    const outcome = await place.run(words)
    // Steps that take long are shown before it.
    const line = outcome.stderr.split('\n').find((one) => !/^ [✓✗] /.test(one)) ?? ''
    expect([words, outcome.code, line.slice(0, 7 + error.length)]).toEqual([
      words,
      code,
      `error: ${error}`,
    ])
  }
  // The header is whole: the API server finds out.
  const bytes = readFileSync(file('idle.skiff'))
  writeFileSync(file('short.skiff'), bytes)
  truncateSync(file('short.skiff'), bytes.length - 100)
  const short = await place.run(['up', '--name', 'new', '--from', file('short.skiff')])
  expect([short.code, short.stderr]).toEqual([
    1,
    expect.stringContaining(
      `error: api-server did not start: --initial-state: ${file('short.skiff')} is cut short\n`,
    ),
  ])
  expect(readdirSync(place.stateRoot, { recursive: true }).length).toBe(clusters)
}, 120_000)

test('objects of a cluster are imported from its kubeconfig, into a file and into another cluster', async () => {
  const { kubeconfig } = place.cluster('lab')
  const into = await place.run([
    'import',
    '--kubeconfig',
    kubeconfig,
    '--into',
    'copy',
    '--namespace',
    'default',
    '-o',
    'json',
  ])
  expect([into.code, into.stderr]).toEqual([0, ''])
  expect(JSON.parse(into.stdout)).toMatchObject({ failed: [], unread: [] })
  const path = file('objects.yaml')
  const written = await place.run([
    'import',
    '--kubeconfig',
    kubeconfig,
    path,
    '--kind',
    'deployments',
  ])
  expect([written.code, written.stderr]).toEqual([0, ''])
  const text = readFileSync(path, 'utf8')
  expect(text).toContain('kind: Deployment')
  expect(text).not.toMatch(/uid:|resourceVersion:|status:/)
}, 60_000)
