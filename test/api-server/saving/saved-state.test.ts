/** What an API server gives to be saved, and a server that begins with it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeSavedFile } from '../../../components/store/saved-cluster-file.ts'
import { readSaved, type SavedHeader } from '../../../components/store/saved-cluster.ts'
import type { KeyValue } from '../../../components/store/store.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { encryptionConfig, provider, startStoredServer } from '../../support/raw-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('saved-state')
let files = 0
const newPath = (): string => join(folder, `file-${++files}`)

interface State {
  readonly header: SavedHeader
  readonly kvs: KeyValue[]
}

async function stateOf(server: TestApiServer, query = ''): Promise<State> {
  const { status, bytes, text } = await server.request('GET', `/debug/state${query}`)
  if (status !== 200) throw new Error(`${status} ${text}`)
  const { header, kvs } = await readSaved(
    (async function* () {
      yield bytes
    })(),
  )
  return { header, kvs: await Array.fromAsync(kvs) }
}

async function savedFile({ header, kvs }: State): Promise<string> {
  const path = newPath()
  await writeSavedFile(path, header, kvs)
  return path
}

const secretsPath = '/api/v1/namespaces/default/secrets'
const configMaps = '/api/v1/namespaces/default/configmaps'

/** `secrets/default/a` of the stored objects that match, in the order of their keys. */
function keysLike({ kvs }: State, name: RegExp): string[] {
  return kvs
    .map(({ key }) => key.split('/').slice(2).join('/'))
    .filter((key) => name.test(`/${key}`))
}

describe.each(['kubernetes', 'svc'] as const)('a server that is saved (%s)', (dialect) => {
  it('and one that begins with it have the same objects and resourceVersions', async () => {
    await using server = await startApiServer({ dialect })
    for (const name of ['a', 'b', 'c'])
      await server.ok('POST', configMaps, { body: { metadata: { name }, data: { name } } })
    await server.ok('PATCH', `${configMaps}/b`, {
      body: { data: { more: 'x' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    await server.ok('DELETE', `${configMaps}/c`)
    // The server writes objects of its own, too, at any time.
    const earlier = await server.ok('GET', configMaps)
    const state = await stateOf(server)
    const { items, metadata } = await server.ok('GET', configMaps)
    expect(state.header).toMatchObject({ dialect, serviceRange: '10.96.0.0/16' })
    expect(state.header.revision).toBeGreaterThanOrEqual(Number(earlier.metadata.resourceVersion))
    expect(state.header.revision).toBeLessThanOrEqual(Number(metadata.resourceVersion))

    const flags = [`--initial-state=${await savedFile(state)}`]
    await using copy = await startApiServer({ dialect, flags })
    expect((await copy.ok('GET', configMaps)).items).toEqual(items)
    const next = await copy.ok('POST', configMaps, { body: { metadata: { name: 'd' } } })
    expect(Number(next.metadata.resourceVersion)).toBeGreaterThan(state.header.revision)
    const first = await copy.request(
      'GET',
      `${configMaps}?resourceVersion=1&resourceVersionMatch=Exact`,
    )
    expect(first.status).toBe(410)
  })

  it('keeps its leases, bootstrap tokens, account tokens and cluster-info to itself', async () => {
    await using server = await startApiServer({ dialect })
    const { systemNamespace, publicNamespace, labelDomain } = server.dialect
    const create = async (path: string, body: unknown): Promise<void> =>
      void (await server.ok('POST', path, { body }))
    const leases = `/apis/${server.group('coordination')}/v1/namespaces`
    await create(`${leases}/${systemNamespace}/leases`, { metadata: { name: 'leader' } })
    await create(`${leases}/default/leases`, { metadata: { name: 'of-a-user' } })
    await create(`/api/v1/namespaces/${publicNamespace}/configmaps`, {
      metadata: { name: 'cluster-info' },
    })
    await create(`/api/v1/namespaces/${publicNamespace}/configmaps`, {
      metadata: { name: 'other' },
    })
    const bootstrap = `bootstrap.${labelDomain}/token`
    await create(`/api/v1/namespaces/${systemNamespace}/secrets`, {
      metadata: { name: 'bootstrap-token-abc123' },
      type: bootstrap,
      stringData: { 'token-id': 'abc123', 'token-secret': '0123456789abcdef' },
    })
    await create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } })
    await create(secretsPath, {
      metadata: {
        name: 'robot-token',
        annotations: { [`${labelDomain}/service-account.name`]: 'robot' },
      },
      type: `${labelDomain}/service-account-token`,
      stringData: { token: 'ey.of.this.cluster', extra: 'kept' },
    })
    const state = await stateOf(server)
    const named = /leases\/|cluster-info|\/other|bootstrap-token|robot-token|continue-token/
    expect(keysLike(state, named)).toEqual([
      `configmaps/${publicNamespace}/other`,
      'leases/default/of-a-user',
      'secrets/default/robot-token',
    ])
    const robot = state.kvs.find(({ key }) => key.endsWith('robot-token'))
    const { data } = JSON.parse(robot!.value.toString()) as { data: Record<string, string> }
    expect(Object.keys(data)).toEqual(['extra'])

    // Into a backup goes all of that: it is put back to the same processes.
    const backup = await stateOf(server, '?form=backup')
    expect(backup.header.form).toBe('backup')
    const kept = backup.kvs.filter(({ key }) => named.test(key)).map(({ key }) => key)
    for (const name of [
      'leader',
      'of-a-user',
      'cluster-info',
      'other',
      'token-abc123',
      'robot-token',
    ])
      expect(kept.some((key) => key.endsWith(name))).toBe(true)
    const token = backup.kvs.find(({ key }) => key.endsWith('robot-token'))
    expect(token).toMatchObject({ resource: 'core/secrets' })
    expect(token?.value.toString()).toContain(Buffer.from('ey.of.this.cluster').toString('base64'))
    expect((await server.request('GET', '/debug/state?form=odd')).status).toBe(400)
  })
})

describe('/debug/state', () => {
  it('leaves out the data of Secrets, and the copy that kubectl keeps of it', async () => {
    await using server = await startApiServer()
    const applied = 'kubectl.kubernetes.io/last-applied-configuration'
    await server.ok('POST', secretsPath, {
      body: {
        metadata: { name: 's', annotations: { [applied]: 'hidden-copy', note: 'kept' } },
        stringData: { password: 'hidden' },
      },
    })
    const bytesOf = ({ kvs }: State): string =>
      kvs.find(({ key }) => key.endsWith('/default/s'))!.value.toString()
    expect(bytesOf(await stateOf(server))).toContain(Buffer.from('hidden').toString('base64'))
    const state = await stateOf(server, '?form=without-secrets')
    const secret = JSON.parse(bytesOf(state)) as {
      data?: unknown
      metadata: { annotations: unknown }
    }
    expect(secret.data).toBeUndefined()
    expect(secret.metadata.annotations).toEqual({ note: 'kept' })
    await using copy = await startApiServer({
      flags: [`--initial-state=${await savedFile(state)}`],
    })
    expect((await copy.ok('GET', `${secretsPath}/s`)).data).toBeUndefined()
  })

  it('answers members of system:masters alone, and GET alone', async () => {
    await using server = await startApiServer()
    const rbac = `/apis/${server.group('rbac.authorization')}/v1`
    await server.ok('POST', `${rbac}/clusterroles`, {
      body: { metadata: { name: 'paths' }, rules: [{ nonResourceURLs: ['*'], verbs: ['*'] }] },
    })
    await server.ok('POST', `${rbac}/clusterrolebindings`, {
      body: {
        metadata: { name: 'paths' },
        roleRef: {
          apiGroup: server.group('rbac.authorization'),
          kind: 'ClusterRole',
          name: 'paths',
        },
        subjects: [{ kind: 'User', name: 'jane', apiGroup: server.group('rbac.authorization') }],
      },
    })
    const jane = await server.request('GET', '/debug/state', { as: user('jane') })
    expect([jane.status, jane.body.message]).toEqual([
      403,
      'forbidden: User "jane" cannot get path "/debug/state": it is for the group system:masters',
    ])
    expect((await server.request('GET', '/debug/state', { as: 'anonymous' })).status).toBe(403)
    expect((await server.request('POST', '/debug/state', { body: {} })).status).toBe(405)
  })

  it('reads one revision while others write', async () => {
    await using server = await startApiServer({ store: 'sqlite' })
    const body = { data: { round: 'old' } }
    const names = Array.from({ length: 60 }, (_, i) => `c${i}`)
    await Promise.all(
      names.map((name) => server.ok('POST', configMaps, { body: { ...body, metadata: { name } } })),
    )
    const writing = Promise.all(
      names.map((name) =>
        server.ok('PUT', `${configMaps}/${name}`, {
          body: { metadata: { name }, data: { round: 'new' } },
        }),
      ),
    )
    const { header, kvs } = await stateOf(server)
    await writing
    expect(kvs.every(({ modRevision }) => modRevision <= header.revision)).toBe(true)
    // Every write has one revision: as many are new as there were writes until then.
    const created = kvs.filter(
      ({ key, createRevision, modRevision }) =>
        key.includes('/default/c') && createRevision === modRevision,
    )
    const changed = kvs.filter(
      ({ key, createRevision, modRevision }) =>
        key.includes('/default/c') && createRevision < modRevision,
    )
    expect(created.length + changed.length).toBe(60)
    expect(
      new Set(changed.map(({ value }) => /"round":"(\w+)"/.exec(value.toString())?.[1])),
    ).toEqual(new Set(changed.length === 0 ? [] : ['new']))
  })
})

describe('encryption at rest', () => {
  const config = (...providers: unknown[]): string =>
    encryptionConfig('k8s.io', { resources: ['secrets'], providers })

  it('is undone in what is saved, and done by the server that begins with it', async () => {
    await using at = await startStoredServer({
      files: { 'enc.yaml': config(provider('aesgcm', { k1: 'a' })) },
      flags: (path) => [`--encryption-provider-config=${path('enc.yaml')}`],
    })
    await at.server.ok('POST', secretsPath, {
      body: { metadata: { name: 's' }, stringData: { password: 'correct-horse' } },
    })
    const state = await stateOf(at.server)
    const password = Buffer.from('correct-horse').toString('base64')
    expect(state.kvs.find(({ key }) => key.endsWith('/default/s'))!.value.toString()).toContain(
      password,
    )

    const saved = await savedFile(state)
    await using other = await startStoredServer({
      files: { 'enc.yaml': config(provider('secretbox', { k2: 'b' })) },
      flags: (path) => [
        `--encryption-provider-config=${path('enc.yaml')}`,
        `--initial-state=${saved}`,
      ],
    })
    expect((await other.server.ok('GET', `${secretsPath}/s`)).data.password).toBe(password)
    const stored = await other.between(
      async (store) => (await store.get('/registry/secrets/default/s'))!.value.toString('latin1'),
      [
        `--encryption-provider-config=${other.file('enc.yaml', config(provider('secretbox', { k2: 'b' })))}`,
      ],
    )
    expect(stored).toMatch(/^k8s:enc:secretbox:v1:k2:/)
  })

  it('whose key is missing is the reason why nothing is saved', async () => {
    await using at = await startStoredServer({
      files: { 'enc.yaml': config(provider('aesgcm', { k1: 'a' })) },
      flags: (path) => [`--encryption-provider-config=${path('enc.yaml')}`],
    })
    await at.server.ok('POST', secretsPath, { body: { metadata: { name: 's' } } })
    await at.between(async () => {}, [])
    await expect(stateOf(at.server)).rejects.toThrow(
      'cannot decrypt /registry/secrets/default/s: identity transformer tried to read encrypted data',
    )
  })
})

describe('--initial-state', () => {
  it('is refused on a store that is not empty', async () => {
    await using server = await startApiServer({ store: 'sqlite' })
    const saved = await savedFile(await stateOf(server))
    await expect(server.restart({ flags: [`--initial-state=${saved}`] })).rejects.toThrow(
      new RegExp(
        `^--initial-state: ${saved} needs an empty store, but the store is at revision \\d+$`,
      ),
    )
  })

  it('is refused for another dialect', async () => {
    await using server = await startApiServer({ dialect: 'svc' })
    const saved = await savedFile(await stateOf(server))
    await expect(startApiServer({ flags: [`--initial-state=${saved}`] })).rejects.toThrow(
      `--initial-state: ${saved} is of the dialect svc, not of kubernetes`,
    )
  })

  it('is refused for a file that is none, with the reason', async () => {
    const path = newPath()
    const start = startApiServer({ flags: [`--initial-state=${path}`] })
    await expect(start).rejects.toThrow(/^--initial-state: \S+ cannot be read: ENOENT/)
    writeFileSync(path, 'hello')
    await expect(startApiServer({ flags: [`--initial-state=${path}`] })).rejects.toThrow(
      `--initial-state: ${path} is not a saved cluster`,
    )
  })

  it('is refused when its keys are those of no store', async () => {
    const header = { writtenBy: 'me', dialect: 'kubernetes', revision: 9, savedAt: '' }
    const kv = {
      key: '/registry/a/b/c',
      value: Buffer.from('{}'),
      createRevision: 3,
      modRevision: 2,
    }
    const saved = await savedFile({ header, kvs: [kv] })
    await expect(startApiServer({ flags: [`--initial-state=${saved}`] })).rejects.toThrow(
      /is damaged: the key "\/registry\/a\/b\/c" cannot be loaded: it was created at 3, written at 2 of 9/,
    )
  })
})
