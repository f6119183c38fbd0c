/** Objects that cannot be read: what requests are answered, and how such an object is got rid of. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { admin, type TestApiServer } from '../../support/api-server.ts'
import { allow } from '../../support/grants.ts'
import {
  encryptionConfig,
  provider,
  startStoredServer,
  type StoredServer,
} from '../../support/raw-store.ts'

const option = 'ignoreStoreReadErrorWithClusterBreakingPotential'
const gateOn = '--feature-gates=AllowUnsafeMalformedObjectDeletion=true'
const unsafe = { body: { [option]: true } }
const secrets = '/api/v1/namespaces/default/secrets'
const configMaps = '/api/v1/namespaces/default/configmaps'
const keyOf = (name: string): string => `/registry/configmaps/default/${name}`

/** What lies under keys instead of an object, by the name of its ConfigMap. */
const rubbish: Record<string, string> = {
  empty: '',
  text: 'not an object',
  half: '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"ha',
  broken: '{"kind":"ConfigMap","metadata":{"name":"broken","resourceVersion":""},"data":{x}}\n',
  list: '["resourceVersion":""]\n',
  nothing: '{}\n',
  foreign: 'k8s:enc:aesgcm:v1:lost:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
}
/** Logged errors but for those of objects that cannot be read. */
const bugsOf = ({ faults }: TestApiServer): string[] =>
  faults.filter((line) => !/StorageError|StorageReadError|failed to read|version\/kind/.test(line))
/** What the provider says of a key that it does not have. */
const noKey = 'no matching key was found for the provided AES transformer'
const untransformable = (key: string, why: string): string =>
  `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: ${why}`

/** Puts bytes under keys, whatever is there. */
async function damage(at: StoredServer, values: Record<string, string>): Promise<void> {
  await at.between(async (store) => {
    for (const [key, value] of Object.entries(values)) {
      const current = await store.get(key)
      const expectedRevision = current?.modRevision ?? 0
      const result = await store.txn({ key, expectedRevision, value: Buffer.from(value) })
      expect(result.ok).toBe(true)
    }
  })
}

const hasKey = async (at: StoredServer, key: string): Promise<boolean> =>
  await at.between(async (store) => (await store.get(key)) !== undefined)

/** A server whose secrets `lost` (with a finalizer) and `kept` were written with different keys, of which it has the second. */
async function withLostKey(
  dialect: 'kubernetes' | 'svc',
  ...flags: string[]
): Promise<StoredServer> {
  const domain = dialect === 'svc' ? 'svc.io' : 'k8s.io'
  const config = (keys: Record<string, string>): string =>
    encryptionConfig(domain, { resources: ['secrets'], providers: [provider('aesgcm', keys)] })
  const at = await startStoredServer({
    dialect,
    files: { 'enc.yaml': config({ k1: 'a' }) },
    flags: (path) => [`--encryption-provider-config=${path('enc.yaml')}`],
  })
  await at.server.ok('POST', secrets, {
    body: { metadata: { name: 'lost', finalizers: ['example.com/hold'] }, stringData: { a: 'b' } },
  })
  const path = at.file('enc.yaml', config({ k2: 'b' }))
  await at.between(async () => {}, [`--encryption-provider-config=${path}`, ...flags])
  await at.server.ok('POST', secrets, { body: { metadata: { name: 'kept' } } })
  return at
}

describe('with the gate off, as by default', () => {
  let at: StoredServer
  let server: TestApiServer
  beforeAll(async () => {
    at = await withLostKey('kubernetes')
    ;({ server } = at)
  })
  afterAll(async () => await at[Symbol.asyncDispose]())

  const refused = {
    kind: 'Status',
    status: 'Failure',
    reason: 'InternalError',
    code: 500,
    message: `Internal error occurred: ${noKey}`,
  }

  it('[DEL-016] the server runs; reading, changing and replacing an object that cannot be decrypted is a 500', async () => {
    expect(await server.ok('GET', '/readyz')).toBe('ok')
    const merge = { 'content-type': 'application/merge-patch+json' }
    const answers = [
      await server.request('GET', `${secrets}/lost`),
      await server.request('GET', `${secrets}/lost?resourceVersion=0`),
      await server.request('PATCH', `${secrets}/lost`, { body: { a: 1 }, headers: merge }),
      await server.request('PUT', `${secrets}/lost`, { body: { metadata: { name: 'lost' } } }),
    ]
    for (const { status, body } of answers) {
      expect(status).toBe(500)
      expect(body).toMatchObject(refused)
    }
    // The key is taken, and what can be read is served.
    const again = await server.request('POST', secrets, { body: { metadata: { name: 'lost' } } })
    expect(again.body.reason).toBe('AlreadyExists')
    expect((await server.ok('GET', `${secrets}/kept`)).metadata.name).toBe('kept')
  })

  it('a list that would show it is a 500 that names the key, other lists are whole, and watches wait', async () => {
    const key = '/registry/secrets/default/lost'
    const why = `Internal error occurred: unable to transform key "${key}": ${noKey}`
    const deleteMany = await server.request('DELETE', secrets)
    for (const reply of [
      await server.request('GET', secrets),
      await server.request('GET', '/api/v1/secrets?resourceVersion=0'),
      await server.request('GET', `${secrets}?labelSelector=a=b`),
      await server.request('GET', `${secrets}?fieldSelector=metadata.name=lost`),
      deleteMany,
    ]) {
      expect(reply.status).toBe(500)
      expect(reply.body.message).toBe(why)
    }
    const names = async (path: string): Promise<string[]> =>
      (await server.ok('GET', path)).items.map(
        ({ metadata }: { metadata: { name: string } }) => metadata.name,
      )
    expect(await names(`${secrets}?fieldSelector=metadata.name=kept`)).toEqual(['kept'])
    // A page is whole until it comes to the one that cannot be read.
    await server.ok('POST', secrets, { body: { metadata: { name: 'kept-too' } } })
    expect(await names(`${secrets}?limit=1`)).toEqual(['kept'])
    expect((await server.request('GET', `${secrets}?limit=3`)).status).toBe(500)
    expect(await names('/api/v1/namespaces/kube-system/secrets')).toEqual([])
    const watch = await server.request('GET', `${secrets}?watch=1`)
    expect(watch.status).toBe(429)
    expect(watch.body).toMatchObject({
      reason: 'TooManyRequests',
      message: 'storage is (re)initializing',
    })
    expect(watch.headers['retry-after']).toBe('1')
  })

  it('[DEL-002][DEL-015][DEL-017] no delete removes it, with or without the option, which counts as not given', async () => {
    for (const path of [`${secrets}/lost`, `${secrets}/lost?${option}=true`]) {
      for (const ask of [
        {},
        unsafe,
        { body: { [option]: false } },
        { body: { dryRun: ['All'] } },
      ]) {
        const reply = await server.request('DELETE', path, ask)
        expect(reply.status).toBe(500)
        expect(reply.body).toMatchObject(refused)
      }
    }
    const beside = { body: { [option]: true, gracePeriodSeconds: 0, dryRun: ['All'] } }
    expect((await server.request('DELETE', `${secrets}/kept`, beside)).status).toBe(200)
    expect((await server.request('GET', `${secrets}/lost`)).status).toBe(500)
    expect(await hasKey(at, '/registry/secrets/default/lost')).toBe(true)
  })
})

describe.each(['kubernetes', 'svc'] as const)('with the gate on, %s', (dialect) => {
  let at: StoredServer
  let server: TestApiServer
  const key = '/registry/secrets/default/lost'
  beforeEach(async () => {
    at = await withLostKey(dialect, gateOn)
    ;({ server } = at)
    return async () => await at[Symbol.asyncDispose]()
  })

  it('[DEL-016][DEL-017] errors name the keys, and a normal delete fails with them', async () => {
    const text = untransformable(key, noKey)
    for (const method of ['GET', 'DELETE']) {
      const reply = await server.request(method, `${secrets}/lost`)
      expect(reply.status).toBe(500)
      expect(reply.body).toMatchObject({
        reason: 'InternalError',
        message: `Internal error occurred: ${text}`,
      })
    }
    const list = await server.request('GET', '/api/v1/secrets')
    expect(list.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      reason: 'StorageReadError',
      code: 500,
      message: 'failed to read one or more secrets from the storage',
      details: {
        name: 'list',
        kind: 'secrets',
        causes: [{ reason: 'UnexpectedServerResponse', message: text, field: key }],
      },
    })
    expect(await hasKey(at, key)).toBe(true)
  })

  it('[DEL-015][DEL-018][DEL-019][DEL-020] the option removes it, whatever finalizers it had; lists and watches work again', async () => {
    const reply = await server.request('DELETE', `${secrets}/lost`, unsafe)
    expect(reply.status).toBe(200)
    expect(reply.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'lost', kind: 'Secret' },
      code: 200,
    })
    expect((await server.auditOf(reply)).annotations).toMatchObject({
      [`apiserver.${server.dialect.apiDomain}/unsafe-delete-ignore-read-error`]: '',
    })
    expect((await server.request('GET', `${secrets}/lost`)).status).toBe(404)
    expect((await server.ok('GET', secrets)).items).toHaveLength(1)
    const watch = await server.watch(`${secrets}?watch=1`)
    expect((await watch.next()).object.metadata.name).toBe('kept')
    await server.ok('POST', secrets, { body: { metadata: { name: 'lost' } } })
    expect((await watch.next()).object.metadata.name).toBe('lost')
    await server.ok('DELETE', `${secrets}/lost`)
    expect(await hasKey(at, key)).toBe(false)
  })

  it('[DEL-023] it needs the verb unsafe-delete-ignore-read-errors beside delete', async () => {
    const grant = (name: string, ...verbs: string[]) =>
      allow(server, 'default', { name, rules: [{ resources: ['secrets'], verbs }] })
    const deleter = await grant('deleter', 'delete')
    const special = await grant('special', 'unsafe-delete-ignore-read-errors')
    const both = await grant('both', 'delete', 'unsafe-delete-ignore-read-errors')
    const refused = await server.request('DELETE', `${secrets}/lost`, { ...unsafe, as: deleter })
    expect(refused.status).toBe(403)
    expect(refused.body.message).toMatch(
      /^secrets "lost" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: /,
    )
    expect(await server.auditOf(refused)).toMatchObject({
      responseStatus: { code: 403 },
      annotations: {
        [`apiserver.${server.dialect.apiDomain}/unsafe-delete-ignore-read-error`]: '',
      },
    })
    const other = await server.request('DELETE', `${secrets}/lost`, { ...unsafe, as: special })
    expect(other.status).toBe(403)
    expect(other.body.message).toContain('cannot delete resource "secrets"')
    expect((await server.request('GET', `${secrets}/lost`)).status).toBe(500)
    expect(
      (await server.request('DELETE', `${secrets}/lost`, { ...unsafe, as: both })).status,
    ).toBe(200)
  })
})

describe('the option, with the gate on', () => {
  let at: StoredServer
  let server: TestApiServer
  beforeAll(async () => {
    at = await withLostKey('kubernetes', gateOn)
    ;({ server } = at)
  })
  afterAll(async () => await at[Symbol.asyncDispose]())

  it('[DEL-021] on an object that can be read, or is not there, is refused, and nothing changes', async () => {
    const before = await server.ok('GET', `${secrets}/kept`)
    for (const name of ['kept', 'missing']) {
      const reply = await server.request('DELETE', `${secrets}/${name}`, unsafe)
      expect(reply.status).toBe(422)
      expect(reply.body).toMatchObject({
        reason: 'Invalid',
        message: `secrets "${name}" is invalid: ${option}: Invalid value: true: is exclusively used to delete corrupt object(s), try again by removing this option`,
      })
    }
    expect(await server.ok('GET', `${secrets}/kept`)).toEqual(before)
  })

  it.each([
    ['dryRun', ['All']],
    ['dryRun', ['']],
    ['gracePeriodSeconds', 30],
    ['gracePeriodSeconds', 0],
    ['orphanDependents', true],
    ['orphanDependents', false],
    ['preconditions', { uid: 'x' }],
    ['preconditions', {}],
    ['propagationPolicy', 'Background'],
    ['propagationPolicy', ''],
  ])('[DEL-022] together with %s %j is invalid', async (name, value) => {
    const reply = await server.request('DELETE', `${secrets}/lost`, {
      body: { [option]: true, [name]: value },
    })
    expect(reply.status).toBe(422)
    expect(reply.body.message).toBe(
      `DeleteOptions.meta.k8s.io "" is invalid: ${option}: Invalid value: true: cannot be set together with .${name}`,
    )
    expect((await server.request('GET', `${secrets}/lost`)).status).toBe(500)
  })

  it('works as a query parameter too, and then stands alone as well', async () => {
    const query = `${secrets}/lost?${option}=true`
    for (const more of ['gracePeriodSeconds=0', 'orphanDependents=false', 'dryRun=All']) {
      expect((await server.request('DELETE', `${query}&${more}`)).status).toBe(422)
    }
    expect(
      (await server.request('DELETE', `${secrets}/kept?${option}=true`)).body.message,
    ).toContain('exclusively')
  })

  it('names all that is set beside it, and is refused for collections', async () => {
    const all = await server.request('DELETE', `${secrets}/lost`, {
      body: { [option]: true, gracePeriodSeconds: 1, preconditions: {}, dryRun: ['All'] },
    })
    expect(all.body.details.causes).toHaveLength(3)
    const many = await server.request('DELETE', secrets, unsafe)
    expect(many.status).toBe(422)
    expect(many.body.message).toBe(
      `DeleteOptions.meta.k8s.io "" is invalid: ${option}: Invalid value: true: is not allowed with DELETECOLLECTION, try again after removing the option`,
    )
  })
})

describe('what is no object', () => {
  it('[DEL-016][DEL-018] is found in any form, at once or when it is looked into, and can be removed', async () => {
    await using at = await startStoredServer({ flags: () => [gateOn] })
    const { server } = at
    for (const name of [...Object.keys(rubbish), 'good']) {
      await server.ok('POST', configMaps, { body: { metadata: { name }, data: { a: 'b' } } })
    }
    const values = Object.entries(rubbish).map(([name, value]) => [keyOf(name), value] as const)
    await damage(at, Object.fromEntries(values))
    expect(bugsOf(server)).toEqual([])
    const selected = await server.request('GET', `${configMaps}?labelSelector=a=b`)
    expect(selected.status).toBe(500)
    expect(selected.body.details.causes.map(({ field }: { field: string }) => field)).toEqual(
      Object.keys(rubbish).map(keyOf).toSorted(),
    )
    for (const name of Object.keys(rubbish)) {
      const reply = await server.request('GET', `${configMaps}/${name}`)
      expect(reply.status, name).toBe(500)
      expect(reply.body.message, name).toContain('StorageError: corrupt object')
      // Nothing of what lies there is told.
      expect(reply.text).not.toMatch(/\{x|aaaa|not an object/)
      expect((await server.request('DELETE', `${configMaps}/${name}`)).status, name).toBe(500)
      expect((await server.request('DELETE', `${configMaps}/${name}`, unsafe)).status, name).toBe(
        200,
      )
    }
    expect((await server.ok('GET', configMaps)).items).toHaveLength(1)
    expect(bugsOf(server)).toEqual([])
  })

  it('keeps nothing else from working, be it a namespace, a role or an event', async () => {
    await using at = await startStoredServer()
    const { server } = at
    const group = server.group('rbac.authorization')
    await allow(server, 'default', { name: 'u', rules: [{ resources: ['*'], verbs: ['*'] }] })
    await server.ok('POST', '/api/v1/namespaces', { body: { metadata: { name: 'n' } } })
    const broken = '{"kind":"X","metadata":{"resourceVersion":""},}\n'
    await damage(at, {
      '/registry/namespaces/n': broken,
      '/registry/roles/default/u': broken,
      '/registry/clusterroles/view': 'x',
      '/registry/events/default/e': broken,
      '/registry/odd/name': broken,
      '/registry/events': broken,
      '/registry/secrets/kube-system/bootstrap-token-aaaaaa': broken,
    })
    await server.ok('POST', configMaps, { body: { metadata: { name: 'c' } } })
    const asUser = await server.request('GET', configMaps, { as: { user: 'u', groups: [] } })
    expect(asUser.status).toBe(403)
    const inside = await server.request('POST', '/api/v1/namespaces/n/configmaps', {
      body: { metadata: { name: 'c' } },
    })
    expect(inside.status).toBe(404)
    expect((await server.request('GET', `/apis/${group}/v1/clusterroles/view`)).status).toBe(500)
    expect((await server.ok('GET', configMaps, { as: admin })).items).toHaveLength(1)
    expect(bugsOf(server)).toEqual([])
  })

  it('is named in lists up to a hundred times', async () => {
    await using at = await startStoredServer({ flags: () => [gateOn] })
    const many = Array.from({ length: 120 }, (_, i) => keyOf(`c${String(i).padStart(3, '0')}`))
    await damage(at, Object.fromEntries(many.map((key) => [key, 'x'])))
    const { body } = await at.server.request('GET', configMaps)
    expect(body.details.causes).toHaveLength(101)
    expect(body.details.causes[99].field).toBe(many[99])
    expect(body.details.causes[100]).toEqual({
      reason: 'FieldValueTooMany',
      message: 'too many errors, the list is truncated',
    })
  })
})
