/** An API server that has not seen what another has written answers and decides as if it had. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { StoreError } from '../../../components/store/store.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { laggingStore } from '../../support/lagging-store.ts'

const store = createMemoryStore()
let a: TestApiServer
let b: TestApiServer
let namespace: string

beforeAll(async () => {
  a = await startApiServer({ openStore: () => laggingStore(store) })
  b = await startApiServer({ openStore: () => laggingStore(store) })
  namespace = await a.namespace()
})

afterAll(async () => {
  await b[Symbol.asyncDispose]()
  await a[Symbol.asyncDispose]()
  await store.close()
})

const maps = (name = ''): string =>
  `/api/v1/namespaces/${namespace}/configmaps/${name}`.replace(/\/$/, '')
const merge = { 'content-type': 'application/merge-patch+json' }

async function createMap(name: string, data: Record<string, string> = {}) {
  return await a.ok('POST', maps(), { body: { metadata: { name }, data } })
}

test('a get sees what the other server has created', async () => {
  await createMap('got')
  expect((await b.ok('GET', maps('got'))).metadata.name).toBe('got')
})

test('a list sees what the other server has created and deleted', async () => {
  await createMap('listed')
  const names = async () =>
    (await b.ok('GET', maps())).items.map(
      (one: { metadata: { name: string } }) => one.metadata.name,
    )
  expect(await names()).toContain('listed')
  await a.ok('DELETE', maps('listed'))
  expect(await names()).not.toContain('listed')
})

test('an update with the version that the other server has made succeeds', async () => {
  await createMap('updated')
  await b.ok('GET', maps('updated'))
  const changed = await a.ok('PATCH', maps('updated'), {
    body: { data: { by: 'a' } },
    headers: merge,
  })
  const reply = await b.request('PUT', maps('updated'), {
    body: { ...changed, data: { by: 'b' } },
  })
  expect(reply.status).toBe(200)
})

test('an update with an older version conflicts', async () => {
  const old = await createMap('conflicting')
  await b.ok('GET', maps('conflicting'))
  await a.ok('PATCH', maps('conflicting'), { body: { data: { by: 'a' } }, headers: merge })
  const reply = await b.request('PUT', maps('conflicting'), { body: { ...old, data: { by: 'b' } } })
  expect([reply.status, reply.body.reason]).toEqual([409, 'Conflict'])
})

test('a patch without a version is made of the newest state', async () => {
  await createMap('patched')
  await b.ok('GET', maps('patched'))
  await a.ok('PATCH', maps('patched'), { body: { data: { a: '1' } }, headers: merge })
  const { data } = await b.ok('PATCH', maps('patched'), {
    body: { data: { b: '2' } },
    headers: merge,
  })
  expect(data).toEqual({ a: '1', b: '2' })
})

test('a patch that changes nothing of what the server has seen is written when the other has changed it', async () => {
  await createMap('back', { v: '1' })
  await b.ok('GET', maps('back'))
  await a.ok('PATCH', maps('back'), { body: { data: { v: '2' } }, headers: merge })
  await b.ok('PATCH', maps('back'), { body: { data: { v: '1' } }, headers: merge })
  expect((await a.ok('GET', maps('back'))).data).toEqual({ v: '1' })
})

test('a patch and a deletion find what the other server has just created', async () => {
  await createMap('fresh')
  expect(
    (await b.request('PATCH', maps('fresh'), { body: { data: { b: '2' } }, headers: merge }))
      .status,
  ).toBe(200)
  await createMap('fresh-too')
  expect((await b.request('DELETE', maps('fresh-too'))).status).toBe(200)
})

test('what the other server has deleted is not found, and can be created again', async () => {
  const old = await createMap('again')
  await b.ok('GET', maps('again'))
  await a.ok('DELETE', maps('again'))
  expect((await b.request('DELETE', maps('again'))).status).toBe(404)
  await a.ok('POST', maps(), { body: { metadata: { name: 'again' } } })
  await b.ok('GET', maps('again'))
  await a.ok('DELETE', maps('again'))
  const made = await b.ok('POST', maps(), { body: { metadata: { name: 'again' } } })
  expect(made.metadata.uid).not.toBe(old.metadata.uid)
})

test('preconditions of a deletion hold for the newest state', async () => {
  await createMap('checked')
  await b.ok('GET', maps('checked'))
  const changed = await a.ok('PATCH', maps('checked'), {
    body: { data: { v: '2' } },
    headers: merge,
  })
  const { resourceVersion } = changed.metadata
  const wrong = { preconditions: { resourceVersion: String(Number(resourceVersion) - 1) } }
  expect((await b.request('DELETE', maps('checked'), { body: wrong })).status).toBe(409)
  await a.ok('PATCH', maps('checked'), { body: { data: { v: '3' } }, headers: merge })
  const { metadata } = await a.ok('GET', maps('checked'))
  const right = { preconditions: { resourceVersion: metadata.resourceVersion } }
  expect((await b.request('DELETE', maps('checked'), { body: right })).status).toBe(200)
})

test('a dry run decides on the newest state', async () => {
  await createMap('tried')
  const body = { metadata: { name: 'tried' } }
  expect((await b.request('POST', `${maps()}?dryRun=All`, { body })).status).toBe(409)
})

test('objects can be created in a namespace that the other server has just made', async () => {
  const fresh = await a.namespace()
  const reply = await b.request('POST', `/api/v1/namespaces/${fresh}/configmaps`, {
    body: { metadata: { name: 'first' } },
  })
  expect(reply.status).toBe(201)
})

test('the first quota of a namespace that the other server has just made holds', async () => {
  const fresh = await a.namespace()
  const path = `/api/v1/namespaces/${fresh}/configmaps`
  await b.ok('GET', path)
  const hard = { 'count/configmaps': '0' }
  const quotas = `/api/v1/namespaces/${fresh}/resourcequotas`
  const quota = await a.ok('POST', quotas, { body: { metadata: { name: 'no' }, spec: { hard } } })
  const status = { hard, used: { 'count/configmaps': '0' } }
  await a.ok('PUT', `${quotas}/no/status`, { body: { ...quota, status } })
  const reply = await b.request('POST', path, { body: { metadata: { name: 'one' } } })
  expect([reply.status, reply.body.message]).toEqual([
    403,
    expect.stringContaining('exceeded quota: no, '),
  ])
})

test('an Event about an object on which nothing acts is recorded once, by one of the servers', async () => {
  const fresh = await a.namespace()
  const path = `/apis/networking.k8s.io/v1/namespaces/${fresh}/networkpolicies`
  const spec = { podSelector: {} }
  /** How many Events the server has tried to write. */
  const triedBy = async (server: TestApiServer): Promise<number> => {
    const { text } = await server.request('GET', '/metrics')
    const tried = text.matchAll(
      /^apiserver_request_total\{[^}]*resource="events"[^}]*verb="POST"[^}]*\} (\d+)$/gm,
    )
    return Array.from(tried, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0)
  }
  const before = await Promise.all([a, b].map(triedBy))
  await a.ok('POST', path, { body: { metadata: { name: 'one' }, spec } })
  await b.ok('GET', path)
  await b.ok('POST', path, { body: { metadata: { name: 'two' }, spec } })
  await a.ok('GET', path)
  await eventually(async () => {
    const now = await Promise.all([a, b].map(triedBy))
    expect(now.map((count, at) => count - (before[at] ?? 0))).toEqual([2, 2])
  })
  const about = async (): Promise<string[]> => {
    const { items } = await b.ok('GET', `/api/v1/namespaces/${fresh}/events`)
    return items
      .map((one: { involvedObject: { name: string } }) => one.involvedObject.name)
      .toSorted()
  }
  expect(await about()).toEqual(['one', 'two'])
})

test('a token of a ServiceAccount that the other server has just made is accepted', async () => {
  await a.ok('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
    body: { metadata: { name: 'robot' } },
  })
  const { status } = await a.ok(
    'POST',
    `/api/v1/namespaces/${namespace}/serviceaccounts/robot/token`,
    {
      body: { spec: {} },
    },
  )
  const asked = { as: { token: status.token as string } }
  expect((await b.request('GET', '/version', asked)).status).toBe(200)
  await a.ok('DELETE', `/api/v1/namespaces/${namespace}/serviceaccounts/robot`)
  await b.ok('GET', maps())
  expect((await b.request('GET', '/version', asked)).status).toBe(401)
})

test('a kind that the other server has just established is served', async () => {
  const group = 'peers.test'
  await a.ok('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    body: {
      metadata: { name: `cogs.${group}` },
      spec: {
        group,
        scope: 'Cluster',
        names: { plural: 'cogs', kind: 'Cog' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object' } },
          },
        ],
      },
    },
  })
  const established = await a.watch(
    `/apis/apiextensions.k8s.io/v1/customresourcedefinitions?watch=1&fieldSelector=metadata.name%3Dcogs.${group}`,
  )
  for (;;) {
    const { object } = await established.next()
    const conditions = (object.status?.conditions ?? []) as { type: string; status: string }[]
    if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) break
  }
  established.close()
  const reply = await b.request('POST', `/apis/${group}/v1/cogs`, {
    body: { apiVersion: `${group}/v1`, kind: 'Cog', metadata: { name: 'one' } },
  })
  expect(reply.status).toBe(201)
  expect((await a.request('GET', `/apis/${group}/v1/cogs/one`)).status).toBe(200)
})

test('no server has logged a fault', () => {
  expect([...a.faults, ...b.faults]).toEqual([])
})

test('a write of unknown outcome is not made again over what the other server has written since', async () => {
  let isLossy = false
  const openStore = () => {
    const view = laggingStore(store)
    const txn: typeof view.txn = async (wanted) => {
      const result = await view.txn(wanted)
      if (!isLossy || !wanted.key.endsWith('/lost')) return result
      isLossy = false
      await a.ok('PATCH', maps('lost'), { body: { data: { by: 'a' } }, headers: merge })
      throw new StoreError('unavailable', 'the answer was lost')
    }
    return { ...view, txn }
  }
  await using lossy = await startApiServer({ openStore })
  await createMap('lost')
  await lossy.ok('GET', maps('lost'))
  isLossy = true
  const reply = await lossy.request('PATCH', maps('lost'), {
    body: { data: { by: 'lossy' } },
    headers: merge,
  })
  expect(reply.status).toBeGreaterThanOrEqual(500)
  expect((await a.ok('GET', maps('lost'))).data).toEqual({ by: 'a' })
})
