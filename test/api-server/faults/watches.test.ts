/** Faults of watches: those that were open before the fault meet it, too. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { RequestAction } from '../../../components/component-base/request-fault.ts'
import { startApiServer, type TestApiServer, type TestWatch } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const clock = new FakeClock(Date.now())
let server: TestApiServer
let at: string

beforeAll(async () => {
  server = await startApiServer({ clock })
})
afterAll(async () => await server[Symbol.asyncDispose]())
beforeEach(async () => {
  await server.command('faults', {})
  at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
})

const obey = async (watch: RequestAction['watch'], times?: number): Promise<unknown> =>
  await server.command('faults', {
    requests: [{ id: 'watches', match: { resources: ['configmaps'] }, action: { watch }, times }],
  })
const fired = async (): Promise<number> => {
  const counts = (await server.command('fault-counts')) as Record<string, number>
  return counts['watches'] ?? NaN
}
const create = async (name: string): Promise<unknown> =>
  await server.ok('POST', at, { body: { metadata: { name } } })
/** A watch that is open: it has shown its first event. */
async function open(query = ''): Promise<TestWatch> {
  await create('first')
  const watch = await server.watch(`${at}?watch=true${query}`)
  expect((await watch.next()).object.metadata.name).toBe('first')
  return watch
}
const nextOf = async (watch: TestWatch): Promise<string> => {
  const { type, object } = await watch.next()
  return `${type} ${object.metadata.name ?? object.code ?? object.metadata.resourceVersion}`
}

it('drop: the watch stays open without the events, and ends with 410 once the fault is gone', async () => {
  const watch = await open()
  await obey({ events: 'drop' })
  await create('lost')
  await create('lost-too')
  await eventually(async () => expect(await fired()).toBe(2))
  await clock.step(60_000)
  expect(watch.waiting).toEqual([])
  await server.command('faults', {})
  expect(await nextOf(watch)).toBe('ERROR 410')
  await watch.ended
})

it('drop: a watch that has lost nothing goes on', async () => {
  const watch = await open()
  await obey({ events: 'drop' })
  await server.command('faults', {})
  await create('seen')
  expect(await nextOf(watch)).toBe('ADDED seen')
  watch.close()
})

it('drop, once: the next event ends the watch with 410, so that its client sees the later state alone', async () => {
  const watch = await open()
  await obey({ events: 'drop' }, 1)
  await create('lost')
  await eventually(async () => expect(await fired()).toBe(1))
  expect(watch.waiting).toEqual([])
  await create('later')
  expect(await nextOf(watch)).toBe('ERROR 410')
})

it('drop: no bookmark says that the watch is up to date', async () => {
  const watch = await open('&allowWatchBookmarks=true')
  await obey({ events: 'drop' })
  await create('lost')
  await eventually(async () => expect(await fired()).toBe(1))
  for (let minute = 0; minute < 3; minute += 1) await clock.step(60_000)
  await server.command('faults', {})
  expect(await nextOf(watch)).toBe('ERROR 410')
})

it('drop: the present state at the start of a watch comes', async () => {
  await obey({ events: 'drop' })
  const mark = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const watch = await open(mark)
  expect((await watch.next()).type).toBe('BOOKMARK')
  watch.close()
})

it('expire: open watches end with 410 at once, and new ones when they begin', async () => {
  const watch = await open()
  await obey({ events: 'expire' }, 2)
  expect(await nextOf(watch)).toBe('ERROR 410')
  await watch.ended
  const again = await server.watch(`${at}?watch=true`)
  expect(await nextOf(again)).toBe('ERROR 410')
  const third = await server.watch(`${at}?watch=true`)
  expect(await nextOf(third)).toBe('ADDED first')
  expect(await fired()).toBe(2)
  third.close()
})

it('end: the watch ends as if its time were over', async () => {
  const watch = await open()
  await obey({ events: 'end' }, 1)
  await watch.ended
  expect(watch.waiting).toEqual([])
  expect(await fired()).toBe(1)
})

it('repeat: each event comes twice', async () => {
  const watch = await open()
  await obey({ events: 'repeat' })
  await create('twice')
  expect([await nextOf(watch), await nextOf(watch)]).toEqual(['ADDED twice', 'ADDED twice'])
  expect(await fired()).toBe(1)
  watch.close()
})

it('delay: events come that much later, in their order', async () => {
  const watch = await open()
  await obey({ delayMs: 10_000 })
  await create('one')
  await eventually(async () => expect(await fired()).toBe(1))
  await clock.step(4000)
  await create('two')
  await eventually(async () => expect(await fired()).toBe(2))
  await clock.step(5000)
  expect(watch.waiting).toEqual([])
  await clock.step(1000)
  expect(await nextOf(watch)).toBe('ADDED one')
  await clock.step(4000)
  expect(await nextOf(watch)).toBe('ADDED two')
  await create('three')
  await eventually(async () => expect(await fired()).toBe(3))
  await server.command('faults', {})
  expect(await nextOf(watch)).toBe('ADDED three')
  watch.close()
})

it('bookmarks withheld: events come, bookmarks do not', async () => {
  const watch = await open('&allowWatchBookmarks=true')
  await obey({ bookmarks: 'withhold' })
  await eventually(async () => {
    await clock.step(30_000)
    expect(await fired()).toBeGreaterThan(0)
  })
  await create('seen')
  expect(await nextOf(watch)).toBe('ADDED seen')
  await server.command('faults', {})
  for (let minute = 0; minute < 3; minute += 1) await clock.step(60_000)
  expect(await nextOf(watch)).toMatch(/^BOOKMARK /)
  watch.close()
})

it('leaves no error in the log', () => {
  expect(server.faults).toEqual([])
})
