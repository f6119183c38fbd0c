/** What an earlier release wrote, in its layout of keys: a store's file and a saved cluster, with one object of each kind. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { samples } from '../../support/one-of-each.ts'
import { encryptionConfig, provider, startStoredServer } from '../../support/raw-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const fixtures = join(import.meta.dirname, 'fixtures')
const namespace = 'old'
const secret = `/api/v1/namespaces/${namespace}/secrets/one`

/** Secrets of the fixture are encrypted with this key. */
const encrypted = encryptionConfig('k8s.io', {
  resources: ['secrets'],
  providers: [provider('aesgcm', { k1: 'a' })],
})

async function expectAll(server: TestApiServer): Promise<void> {
  for (const { path, body } of samples(server, namespace, 'one')) {
    // Events expire.
    if (path.endsWith('/events')) continue
    const { status } = await server.request('GET', `${path}/${body.metadata.name}`)
    expect(status, path).toBe(200)
  }
  const thing = await server.ok('GET', `/apis/example.com/v1/namespaces/${namespace}/things/one`)
  expect(thing.kind).toBe('Thing')
  expect((await server.ok('GET', secret)).data).toEqual({ a: 'Yg==' })
}

/** A rewrite, as `skiff storage` does it. */
async function rewritten(server: TestApiServer): Promise<boolean> {
  const before = await server.ok('GET', secret)
  const after = await server.ok('PUT', secret, { body: before })
  return after.metadata.resourceVersion !== before.metadata.resourceVersion
}

it('a file of an earlier release is opened with its revisions and its history, and converted once', async () => {
  const folder = temporaryFolder('earlier-keys')
  const path = join(folder, 'data.db')
  writeFileSync(path, gunzipSync(readFileSync(join(fixtures, 'earlier-keys.db.gz'))))
  const rowsOf = (): { revision: number; create_revision: number; key: string }[] => {
    const database = new DatabaseSync(path, { readOnly: true })
    const rows = database.prepare('SELECT revision, create_revision, key FROM log').all()
    database.close()
    return rows as { revision: number; create_revision: number; key: string }[]
  }
  const before = rowsOf()
  const config = join(folder, 'enc.json')
  writeFileSync(config, encrypted)
  const flags = [`--store=sqlite:${path}`, `--encryption-provider-config=${config}`]
  {
    await using server = await startApiServer({ flags })
    await expectAll(server)
    const configMaps = `/api/v1/namespaces/${namespace}/configmaps`
    const { metadata } = await server.ok('GET', `${configMaps}/one`)
    const created = before.find(({ key }) => key.endsWith('/configmaps/old/one'))!.revision
    const watch = await server.watch(`${configMaps}?watch=true&resourceVersion=${created}`)
    const events = [await watch.next(), await watch.next(), await watch.next()]
    expect(events.map((event) => [event?.type, event?.object.metadata.name])).toEqual([
      ['MODIFIED', 'one'],
      ['ADDED', 'gone'],
      ['DELETED', 'gone'],
    ])
    expect(events[0]?.object.metadata.resourceVersion).toBe(metadata.resourceVersion)
    watch.close()
    // It was encrypted under its earlier key.
    expect(await rewritten(server)).toBe(true)
    expect(await rewritten(server)).toBe(false)
  }
  const after = rowsOf().slice(0, before.length)
  const revisionsOf = (rows: typeof before) =>
    rows.map(({ revision, create_revision }) => [revision, create_revision])
  expect(revisionsOf(after)).toEqual(revisionsOf(before))
  expect(before.filter(({ key }) => /^\/registry\/(core|apps)\//.test(key))).not.toEqual([])
  expect(after.filter(({ key }) => /^\/registry\/(core|apps)\//.test(key))).toEqual([])
  expect(after.map(({ key }) => key)).toContain('/registry/services/specs/old/one')

  await using again = await startApiServer({ flags })
  await expectAll(again)
})

it('a cluster that an earlier release saved is loaded', async () => {
  const saved = join(fixtures, 'earlier-keys.skiff')
  await using at = await startStoredServer({
    files: { 'enc.json': encrypted },
    flags: (path) => [
      `--initial-state=${saved}`,
      `--encryption-provider-config=${path('enc.json')}`,
    ],
  })
  await expectAll(at.server)
  expect(await rewritten(at.server)).toBe(false)
})
