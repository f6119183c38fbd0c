/** Reads that show an old state, as those of a server whose cache lags. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const clock = new FakeClock(Date.now())
let server: TestApiServer
let old: string
const configMaps = '/api/v1/namespaces/default/configmaps'

const obey = async (staleMs: number): Promise<unknown> =>
  await server.command('faults', {
    requests: [{ id: 'stale', match: { resources: ['configmaps'] }, action: { staleMs } }],
  })
const counts = async (): Promise<unknown> => await server.command('fault-counts')

beforeAll(async () => {
  server = await startApiServer({ clock })
  await clock.step(60_000)
  for (const name of ['kept', 'gone'])
    await server.ok('POST', configMaps, { body: { metadata: { name }, data: { at: 'first' } } })
  old = (await server.ok('GET', configMaps)).metadata.resourceVersion
  await clock.step(60_000)
  const kept = { metadata: { name: 'kept' }, data: { at: 'second' } }
  await server.ok('PUT', `${configMaps}/kept`, { body: kept })
  await server.ok('DELETE', `${configMaps}/gone`)
  await server.ok('POST', configMaps, { body: { metadata: { name: 'new' } } })
  await clock.step(1000)
})
afterAll(async () => await server[Symbol.asyncDispose]())
beforeEach(async () => {
  await server.command('faults', {})
})

const shown = (list: { items: { metadata: { name: string }; data?: { at: string } }[] }) =>
  list.items.map(({ metadata: { name }, data }) => `${name} ${data?.at ?? ''}`)

it('a list shows the state of that long ago, with its resourceVersion', async () => {
  await obey(30_000)
  const list = await server.ok('GET', configMaps)
  expect(shown(list)).toEqual(['gone first', 'kept first'])
  // The server itself may have written since.
  const shownAt = Number(list.metadata.resourceVersion)
  expect(shownAt).toBeGreaterThanOrEqual(Number(old))
  expect(await counts()).toEqual({ stale: 1 })
  await server.command('faults', {})
  const now = await server.ok('GET', configMaps)
  expect(shown(now)).toEqual(['kept second', 'new '])
  expect(shownAt).toBeLessThan(Number(now.metadata.resourceVersion) - 2)
})

it('a get shows what was there, and not what came later', async () => {
  await obey(30_000)
  expect((await server.ok('GET', `${configMaps}/gone`)).data).toEqual({ at: 'first' })
  expect((await server.ok('GET', `${configMaps}/kept`)).data).toEqual({ at: 'first' })
  expect((await server.request('GET', `${configMaps}/new`)).status).toBe(404)
  expect(await counts()).toEqual({ stale: 3 })
})

it('a watch that begins with the present state begins with the old one, and catches up', async () => {
  await obey(30_000)
  const watch = await server.watch(`${configMaps}?watch=true`)
  const events = await watch.take(5)
  const seen = events.map(({ type, object }) => `${type} ${object.metadata.name}`)
  expect(seen).toEqual(['ADDED gone', 'ADDED kept', 'MODIFIED kept', 'DELETED gone', 'ADDED new'])
  watch.close()
})

it('a read of a resourceVersion that the old state has not seen is a 504 that asks to come again', async () => {
  const now = (await server.ok('GET', configMaps)).metadata.resourceVersion as string
  await obey(30_000)
  const answer = await server.request('GET', `${configMaps}?resourceVersion=${now}`)
  expect(answer.status).toBe(504)
  expect(answer.body.details.causes[0].reason).toBe('ResourceVersionTooLarge')
})

it('a time before the history is a 410', async () => {
  await obey(10 * 60_000)
  const answer = await server.request('GET', configMaps)
  expect([answer.status, answer.body.reason]).toEqual([410, 'Expired'])
  expect((await server.request('GET', `${configMaps}/kept`)).status).toBe(410)
})

it('a write is not stale: a compare with the old version loses', async () => {
  await obey(30_000)
  const read = await server.ok('GET', `${configMaps}/kept`)
  const answer = await server.request('PUT', `${configMaps}/kept`, { body: read })
  expect([answer.status, answer.body.reason]).toEqual([409, 'Conflict'])
})
