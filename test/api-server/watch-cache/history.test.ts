/** What time does to lists and watches: bookmarks, the end of history, the end of a watch. */
import { describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** A collection of ConfigMaps with these names, in a namespace of its own. */
async function collection(server: TestApiServer, ...made: string[]): Promise<string> {
  const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  for (const name of made) await create(server, at, name)
  return at
}
const create = async (server: TestApiServer, at: string, name: string): Promise<unknown> =>
  await server.ok('POST', at, { body: { metadata: { name } } })
const version = async (server: TestApiServer, at: string): Promise<string> =>
  (await server.ok('GET', at)).metadata.resourceVersion as string

interface List {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: { readonly metadata: { readonly name: string } }[]
}
type Shown = { type: string; object: { metadata: { name?: string } } }
const names = (list: List): string[] => list.items.map(({ metadata }) => metadata.name)
const next = (list: List): string => encodeURIComponent(list.metadata.continue ?? '')
const shown = (events: readonly Shown[]): string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`)
const five = ['a', 'b', 'c', 'd', 'e']

describe('history', () => {
  it('[COLL-020][COLL-021][COLL-022][LIM-002][ERR-015][ERR-016] is kept for five minutes', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const at = await collection(server, ...five)
    const page: List = await server.ok('GET', `${at}?limit=2`)
    const exact = `${at}?resourceVersion=${page.metadata.resourceVersion}&resourceVersionMatch=Exact`
    const go = `${at}?limit=2&continue=${next(page)}`
    await clock.step(1000)
    // Nothing else happens to this type.
    await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'elsewhere' } } })
    await clock.step(4 * 60_000)
    expect(names(await server.ok('GET', go))).toEqual(['c', 'd'])
    expect(names(await server.ok('GET', exact))).toEqual(five)
    await clock.step(2 * 60_000)
    for (const path of [go, exact]) {
      const answer = await server.request('GET', path)
      expect(answer.status, path).toBe(410)
      expect(answer.body.reason).toBe('Expired')
    }
    expect(names(await server.ok('GET', at))).toEqual(five)
    const again: List = await server.ok('GET', `${at}?limit=2`)
    expect(names(await server.ok('GET', `${at}?limit=2&continue=${next(again)}`))).toEqual([
      'c',
      'd',
    ])
  })
})

describe('history in bytes', () => {
  it('is bounded as in time: what is older is 410, and the store forgets it too', async () => {
    const clock = new FakeClock(Date.now())
    const flags = ['--watch-history-bytes=200000']
    await using server = await startApiServer({ clock, store: 'sqlite', flags })
    const at = await collection(server, 'a')
    const from = await version(server, at)
    const page: List = await server.ok('GET', `${at}?limit=1`)
    const data = { large: 'x'.repeat(20_000) }
    for (let i = 0; i < 30; i += 1) {
      await server.ok('PUT', `${at}/a`, {
        body: { metadata: { name: 'a' }, data: { ...data, i: String(i) } },
      })
    }
    const watch = await server.watch(`${at}?watch=1&resourceVersion=${from}`)
    expect(await watch.next()).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', reason: 'Expired', code: 410 },
    })
    const exact = `${at}?resourceVersion=${page.metadata.resourceVersion}&resourceVersionMatch=Exact`
    const list = await server.request('GET', exact)
    expect([list.status, list.body.reason]).toEqual([410, 'Expired'])
    const newest = await version(server, at)
    const works = await server.watch(`${at}?watch=1&resourceVersion=${newest}`)
    await server.ok('PUT', `${at}/a`, { body: { metadata: { name: 'a' }, data: { i: 'last' } } })
    expect(shown([await works.next()])).toEqual(['MODIFIED a'])
    // While nothing is cut, the compactor looks every 5 s.
    await clock.step(5000)
    await server.restartWith(async (store) => {
      const stopped = new AbortController()
      const watching = store.watch(
        { prefix: '', fromRevision: Number(from), signal: stopped.signal },
        () => stopped.abort(),
      )
      await expect(watching).rejects.toMatchObject({ code: 'compacted' })
    })
  })
})

describe('time', () => {
  it('[WATCH-006][WATCH-015][WATCH-017] bookmarks come when allowed, and say how far the watch is', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const at = await collection(server, 'a')
    const from = await version(server, at)
    const marked = await server.watch(
      `${at}?watch=1&resourceVersion=${from}&allowWatchBookmarks=true`,
    )
    const unmarked = await server.watch(`${at}?watch=1&resourceVersion=${from}`)
    await create(server, at, 'b')
    const node = await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n' } } })
    await clock.step(2 * 60_000)
    const [added, mark] = await marked.take(2)
    expect(shown([added!])).toEqual(['ADDED b'])
    expect(mark).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
      },
    })
    const { resourceVersion } = mark?.object.metadata
    expect(Number(resourceVersion)).toBeGreaterThanOrEqual(Number(node.metadata.resourceVersion))
    // Resuming there misses nothing and repeats nothing.
    await create(server, at, 'c')
    const resumed = await server.watch(`${at}?watch=1&resourceVersion=${resourceVersion}`)
    expect(shown([await resumed.next()])).toEqual(['ADDED c'])
    expect(resumed.waiting).toEqual([])
    await clock.step(10 * 60_000)
    expect(shown(await unmarked.take(2))).toEqual(['ADDED b', 'ADDED c'])
    expect(unmarked.waiting).toEqual([])
  })

  it('[WATCH-025][LIM-001][ERR-014][ERR-017] history is kept for five minutes', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const at = await collection(server, 'a')
    const from = await version(server, at)
    await create(server, at, 'b')
    await clock.step(4 * 60_000)
    const works = await server.watch(`${at}?watch=1&resourceVersion=${from}`)
    expect(shown([await works.next()])).toEqual(['ADDED b'])
    await clock.step(2 * 60_000)
    const late = await server.watch(`${at}?watch=1&resourceVersion=${from}`)
    expect(await late.next()).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', reason: 'Expired', code: 410 },
    })
    await late.ended
    expect(late.waiting).toEqual([])
    const list = await server.request(
      'GET',
      `${at}?resourceVersion=${from}&resourceVersionMatch=Exact`,
    )
    expect(list.status).toBe(410)
  })

  it('ends after timeoutSeconds, and after half an hour to an hour without', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const at = await collection(server)
    const short = await server.watch(`${at}?watch=1&timeoutSeconds=5`)
    const long = await server.watch(`${at}?watch=1`)
    await clock.step(5000)
    await short.ended
    await clock.step(29 * 60_000)
    expect(await Promise.race([long.ended.then(() => 'ended'), 'open'])).toBe('open')
    await clock.step(32 * 60_000)
    await long.ended
  })
})
