/** Watches: rows WATCH-001 to WATCH-025. */
import https from 'node:https'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { admin, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { describeDialects, sharedServer } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

async function collection(server: TestApiServer, ...made: string[]): Promise<string> {
  const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  for (const name of made) await server.ok('POST', at, { body: { metadata: { name } } })
  return at
}
const version = async (server: TestApiServer, at: string): Promise<string> =>
  (await server.ok('GET', at)).metadata.resourceVersion as string
const create = async (server: TestApiServer, at: string, name: string): Promise<any> =>
  await server.ok('POST', at, { body: { metadata: { name } } })

type Shown = { type: string; object: { metadata: { name?: string } } }
const shown = (events: readonly Shown[]): string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`)

describe('a watch', () => {
  const server = sharedServer()

  it('[WATCH-001][WATCH-003] is a list with the flag watch, and stays open', async () => {
    const at = await collection(server())
    for (const flag of ['watch', 'watch=true', 'watch=1']) {
      const watch = await server().watch(
        `${at}?${flag}&resourceVersion=${await version(server(), at)}`,
      )
      const name = flag.replace(/\W/g, '-')
      await create(server(), at, name)
      expect(shown([await watch.next()])).toEqual([`ADDED ${name}`])
      const open = await Promise.race([watch.ended.then(() => 'ended'), 'open'])
      expect(open).toBe('open')
      watch.close()
    }
    const list = await server().ok('GET', `${at}?watch=false`)
    expect(list.kind).toBe('ConfigMapList')
  })

  it('[WATCH-002] of an item shows that object only', async () => {
    const at = await collection(server(), 'one', 'other')
    const watch = await server().watch(`${at}/one?watch=1`)
    expect(shown([await watch.next()])).toEqual(['ADDED one'])
    for (const name of ['other', 'one']) {
      await server().ok('PATCH', `${at}/${name}`, { headers: merge, body: { data: { a: '1' } } })
    }
    expect(shown([await watch.next()])).toEqual(['MODIFIED one'])
    expect(watch.waiting).toEqual([])
    watch.close()
  })

  it('has deprecated paths of its own, of a kind, a namespace or an object, for GET alone', async () => {
    const at = await collection(server(), 'one', 'other')
    const old = at.replace('/v1/', '/v1/watch/')
    for (const [path, names] of [
      [old, ['one', 'other']],
      [`${old}?watch=false&fieldSelector=metadata.name%3Dother`, ['other']],
      [`${old}/one`, ['one']],
      [`/api/v1/watch/configmaps?fieldSelector=metadata.name%3Done`, ['one']],
    ] as const) {
      const watch = await server().watch(path)
      for (const name of names) expect(shown([await watch.next()]), path).toEqual([`ADDED ${name}`])
      watch.close()
    }
    const namespace = at.split('/')[4] ?? ''
    const watch = await server().watch(`/api/v1/watch/namespaces/${namespace}`)
    expect((await watch.next()).object).toMatchObject({ kind: 'Namespace' })
    watch.close()
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
      expect((await server().request(method, `${old}/one`)).status, method).toBe(405)
    }
    expect((await server().request('GET', `${at}/one`)).status).toBe(200)
  })

  it('[WATCH-007] is sent in chunks over HTTP/1.1', async () => {
    const at = await collection(server())
    const { certificatePem, privateKeyPem } = server().credential(admin)!
    const request = https.get({
      host: '127.0.0.1',
      port: server().port,
      path: `${at}?watch=1&resourceVersion=${await version(server(), at)}`,
      ca: server().pki.authority.certificatePem,
      cert: certificatePem,
      key: privateKeyPem,
      agent: false,
    })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.headers['transfer-encoding']).toBe('chunked')
    expect(response.headers['content-length']).toBeUndefined()
    for (const name of ['a', 'b']) {
      const chunk = once(response, 'data') as Promise<[Buffer]>
      await create(server(), at, name)
      expect(JSON.parse((await chunk)[0].toString())).toMatchObject({
        type: 'ADDED',
        object: { metadata: { name } },
      })
    }
    request.destroy()
  })

  it('[WATCH-008][WATCH-009][WATCH-010][WATCH-011] shows every change after a version, in order', async () => {
    const at = await collection(server(), 'before')
    const from = await version(server(), at)
    const live = await server().watch(`${at}?watch=1&resourceVersion=${from}`)
    const made = await create(server(), at, 'x')
    const put = await server().ok('PUT', `${at}/x`, {
      body: { metadata: { name: 'x' }, data: { a: '1' } },
    })
    const patched = await server().ok('PATCH', `${at}/x`, {
      headers: merge,
      body: { data: { a: '2' } },
    })
    await server().ok('DELETE', `${at}/x`)
    const late = await server().watch(`${at}?watch=1&resourceVersion=${from}`)
    for (const watch of [live, late]) {
      const [added, modified, again, deleted] = await watch.take(4)
      expect(added).toEqual({ type: 'ADDED', object: made })
      expect(modified).toEqual({ type: 'MODIFIED', object: put })
      expect(again).toEqual({ type: 'MODIFIED', object: patched })
      expect(deleted?.type).toBe('DELETED')
      const { resourceVersion } = deleted?.object.metadata
      expect(Number(resourceVersion)).toBeGreaterThan(Number(patched.metadata.resourceVersion))
      expect({
        ...deleted?.object,
        metadata: { ...deleted?.object.metadata, resourceVersion: '' },
      }).toEqual({ ...patched, metadata: { ...patched.metadata, resourceVersion: '' } })
      expect(watch.waiting).toEqual([])
      watch.close()
    }
  })

  it('[WATCH-012] from a version has no synthetic events', async () => {
    const at = await collection(server(), 'a', 'b')
    const watch = await server().watch(
      `${at}?watch=1&resourceVersion=${await version(server(), at)}`,
    )
    await create(server(), at, 'c')
    expect(shown([await watch.next()])).toEqual(['ADDED c'])
    watch.close()
  })

  it('[WATCH-013][WATCH-014] without a version, or with 0, begins with what is there', async () => {
    const at = await collection(server(), 'a', 'b', 'c')
    for (const query of ['watch=1', 'watch=1&resourceVersion=0', 'watch=1&resourceVersion=']) {
      const watch = await server().watch(`${at}?${query}`)
      expect(shown(await watch.take(3)), query).toEqual(['ADDED a', 'ADDED b', 'ADDED c'])
      await server().ok('PATCH', `${at}/a`, { headers: merge, body: { data: { n: query } } })
      expect(shown([await watch.next()])).toEqual(['MODIFIED a'])
      watch.close()
    }
  })

  it('[WATCH-022] sendInitialEvents needs NotOlderThan', async () => {
    const at = await collection(server())
    for (const match of ['', '&resourceVersionMatch=Exact&resourceVersion=1']) {
      const answer = await server().request('GET', `${at}?watch=1&sendInitialEvents=true${match}`)
      expect(answer.status, match).toBe(422)
      expect(answer.body).toMatchObject({ reason: 'Invalid', details: { kind: 'ListOptions' } })
    }
  })

  const initial = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'

  it('[WATCH-018][WATCH-020] sendInitialEvents streams what is there; no bookmark unless allowed', async () => {
    const at = await collection(server(), 'a', 'b')
    const watch = await server().watch(`${at}?${initial}`)
    expect(shown(await watch.take(2))).toEqual(['ADDED a', 'ADDED b'])
    await create(server(), at, 'c')
    expect(shown([await watch.next()])).toEqual(['ADDED c'])
    watch.close()
  })

  it('[WATCH-019][WATCH-021][WATCH-023] a bookmark ends the initial events, then changes follow', async () => {
    const at = await collection(server(), 'a')
    const made = await create(server(), at, 'b')
    const watch = await server().watch(`${at}?${initial}&allowWatchBookmarks=true`)
    const [a, b, mark] = await watch.take(3)
    expect(shown([a!, b!])).toEqual(['ADDED a', 'ADDED b'])
    expect(mark?.type).toBe('BOOKMARK')
    const { resourceVersion } = mark?.object.metadata
    expect(Number(resourceVersion)).toBeGreaterThanOrEqual(Number(made.metadata.resourceVersion))
    await server().ok('PUT', `${at}/a`, { body: { metadata: { name: 'a' }, data: { x: 'y' } } })
    expect(shown([await watch.next()])).toEqual(['MODIFIED a'])
    watch.close()
  })

  it('[WATCH-024] with a version the bookmark is at least that new', async () => {
    const at = await collection(server(), 'a')
    const from = await version(server(), at)
    await create(server(), at, 'b')
    const watch = await server().watch(
      `${at}?${initial}&allowWatchBookmarks=true&resourceVersion=${from}`,
    )
    const events = await watch.take(3)
    expect(events[2]?.type).toBe('BOOKMARK')
    expect(Number(events[2]?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(from))
    watch.close()
    const future = await server().request('GET', `${at}?${initial}&resourceVersion=9999999999`)
    expect(future.status).toBe(504)
  })

  it('of a client that has gone is let go', async () => {
    const at = await collection(server())
    const watchers = async (): Promise<number> => {
      const { text } = await server().request('GET', '/metrics')
      const line =
        /^apiserver_longrunning_requests\{.*resource="configmaps".*verb="WATCH".*\} (\d+)$/m.exec(
          text,
        )
      return Number(line?.[1] ?? 0)
    }
    const before = await watchers()
    const open = await Promise.all([1, 2, 3].map(() => server().watch(`${at}?watch=1`)))
    expect(await watchers()).toBe(before + 3)
    for (const watch of open) watch.close()
    await eventually(async () => expect(await watchers()).toBe(before))
    await create(server(), at, 'x')
  })
})

describeDialects('events', (server) => {
  it('[WATCH-004][WATCH-005] are {type, object} of the requested kind and version', async () => {
    const ns = await server().namespace()
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    const scaler = { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 2 }
    for (const [path, kind, body] of [
      [`/api/v1/namespaces/${ns}/pods`, 'Pod', { spec }],
      [`/apis/${server().group('coordination')}/v1/namespaces/${ns}/leases`, 'Lease', {}],
      [
        `/apis/autoscaling/v1/namespaces/${ns}/horizontalpodautoscalers`,
        'HorizontalPodAutoscaler',
        { spec: scaler },
      ],
    ] as const) {
      const watch = await server().watch(`${path}?watch=1`)
      await server().ok('POST', path, { body: { metadata: { name: 'x' }, ...body } })
      await server().ok('DELETE', `${path}/x?gracePeriodSeconds=0`)
      for (const event of await watch.take(2)) {
        expect(Object.keys(event)).toEqual(['type', 'object'])
        expect(event.object.kind).toBe(kind)
        expect(
          `/${event.object.apiVersion.includes('/') ? 'apis' : 'api'}/${event.object.apiVersion}`,
        ).toBe(path.split('/namespaces/')[0])
      }
      watch.close()
    }
  })

  it('the bookmark that ends the initial events says so in the name of the dialect', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const watch = await server().watch(
      `${at}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1`,
    )
    const mark = await watch.next()
    watch.close()
    expect(mark).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: {
          resourceVersion: expect.stringMatching(/^\d+$/),
          annotations: { [`${server().dialect.apiDomain}/initial-events-end`]: 'true' },
        },
      },
    })
  })
})
