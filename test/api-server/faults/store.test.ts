/** Faults of the store under a running server, and of a store alone: what is refused is not stored, what is acknowledged is. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Faults } from '../../../components/api-server/faults/faults.ts'
import { faultyStore } from '../../../components/api-server/faults/faulty-store.ts'
import type { StoreFault } from '../../../components/component-base/request-fault.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'

let server: TestApiServer
const configMaps = '/api/v1/namespaces/default/configmaps'

beforeAll(async () => {
  server = await startApiServer({ store: 'sqlite' })
  await server.ok('POST', configMaps, { body: { metadata: { name: 'there' } } })
})
afterAll(async () => await server[Symbol.asyncDispose]())
beforeEach(async () => {
  await server.command('faults', {})
})

const obey = async (action: StoreFault['action']): Promise<unknown> =>
  await server.command('faults', { store: [{ id: 'disk', action }] })
const counts = async () =>
  (await server.command('fault-counts')) as Readonly<Record<string, number>>
const create = async (name: string) =>
  await server.request('POST', configMaps, { body: { metadata: { name } } })

it('full: objects are refused as upstream does for a full etcd, deletions and reads work', async () => {
  await create('in-the-way')
  await obey({ full: true })
  const refused = await create('too-much')
  expect([refused.status, refused.body.message]).toEqual([
    500,
    'etcdserver: mvcc: database space exceeded',
  ])
  expect((await server.request('GET', `${configMaps}/too-much`)).status).toBe(404)
  expect((await server.request('GET', `${configMaps}/there`)).status).toBe(200)
  expect((await server.request('DELETE', `${configMaps}/in-the-way`)).status).toBe(200)
  expect((await counts())['disk']).toBeGreaterThan(0)
  await eventually(async () => {
    const ready = await server.request('GET', '/readyz?verbose')
    expect([ready.status, ready.text]).toEqual([500, expect.stringContaining('[-]etcd')])
  })
  await server.command('faults', {})
  expect((await create('too-much')).status).toBe(201)
})

it('failing: writes are refused and reads work, until the fault is gone', async () => {
  await obey({ fail: true })
  const refused = await create('never')
  expect([refused.status, refused.body.message]).toEqual([
    500,
    'Internal error occurred: storage: disk I/O error',
  ])
  expect((await server.request('DELETE', `${configMaps}/there`)).status).toBe(500)
  expect((await server.request('GET', `${configMaps}/never`)).status).toBe(404)
  await eventually(async () => {
    expect((await server.request('GET', '/livez')).status).toBe(500)
  })
  // The server's own writes fail, too.
  expect((await counts())['disk']).toBeGreaterThan(1)
  await server.command('faults', {})
  expect((await create('at-last')).status).toBe(201)
})

it('nothing acknowledged is lost: what was written before, under and after a fault is there after a restart', async () => {
  await server.command('faults', {
    store: [{ id: 'disk', action: { fail: true }, chance: 0.5, seed: 3 }],
  })
  const kept: string[] = []
  const refused: string[] = []
  for (let at = 0; at < 30; at += 1) {
    const name = `object-${at}`
    const { status } = await create(name)
    if (status === 201) kept.push(name)
    else refused.push(name)
  }
  expect([kept.length > 0, refused.length > 0]).toEqual([true, true])
  await server.restart()
  const list = await server.ok('GET', configMaps)
  const names = list.items.map((item: { metadata: { name: string } }) => item.metadata.name)
  expect(names).toEqual(expect.arrayContaining(kept))
  expect(names.filter((name: string) => refused.includes(name))).toEqual([])
})

describe('a slow store', () => {
  const put = (key: string) => ({ key, expectedRevision: 0, value: Buffer.from(key) })

  it('commits that much later, in the order of calls', async () => {
    const clock = new FakeClock()
    const faults = new Faults(clock)
    const store = faultyStore(createMemoryStore(), faults, clock)
    faults.obey({ store: [{ id: 'slow', action: { delayMs: 500 }, times: 2 }] })
    const done: string[] = []
    const writes = ['a', 'b', 'c'].map(async (key) => {
      const result = await store.txn(put(key))
      done.push(`${key} ${result.ok ? result.revision : 'lost'}`)
    })
    await clock.step(499)
    expect(done).toEqual([])
    await clock.step(1)
    await Promise.all(writes)
    expect(done).toEqual(['a 1', 'b 2', 'c 3'])
    expect(faults.counts()).toEqual({ slow: 2 })
    await store.txn(put('d'))
    expect(await store.revision()).toBe(4)
  })

  it('without faults is the store itself, at once', async () => {
    const clock = new FakeClock()
    const store = faultyStore(createMemoryStore(), new Faults(clock), clock)
    expect(await store.txn(put('a'))).toEqual({ ok: true, revision: 1 })
    expect(clock.pending).toBe(0)
  })
})
