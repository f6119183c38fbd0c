/** Expiry on a fake clock. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Expiry, expiringStore } from '../../components/store/expiry.ts'
import { createMemoryStore } from '../../components/store/memory-store.ts'
import { StoreError, type Store } from '../../components/store/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { bytes, put, text } from './actions.ts'

describe('Expiry', () => {
  let store: Store
  let clock: FakeClock
  let controller: AbortController
  let expiry: Expiry
  let running: Promise<void>
  beforeEach(() => {
    store = createMemoryStore()
    clock = new FakeClock(0)
    controller = new AbortController()
    expiry = new Expiry({ store, clock })
    running = expiry.run(controller.signal)
  })
  afterEach(async () => {
    controller.abort()
    await running
    await store.close()
  })
  const keys = async (): Promise<string[]> =>
    (await store.range({ prefix: '' })).kvs.map(({ key }) => key)

  it('follows keys that are written with a time to live, until they are written without', async () => {
    const expiring = expiringStore(store, expiry, clock)
    const value = bytes('1')
    for (const key of ['a', 'b', 'c']) {
      await expiring.txn({ key, expectedRevision: 0, value, expiresAfterMs: 5000 })
    }
    await clock.step(4000)
    const again = { expectedRevision: 2, key: 'b', value, expiresAfterMs: 5000 }
    expect(await expiring.txn(again)).toMatchObject({ ok: true })
    await expiring.txn({ expectedRevision: 3, key: 'c', value })
    await clock.step(2000)
    expect(await keys()).toEqual(['b', 'c'])
    await clock.step(60_000)
    expect(await keys()).toEqual(['c'])
  })

  it('deletes each key when its time has come, and not before', async () => {
    for (const [key, atMs] of Object.entries({ a: 10_000, b: 5000, c: 60_000 }))
      expiry.track(key, await put(store, key, '1'), atMs)
    await clock.step(4999)
    expect(await keys()).toEqual(['a', 'b', 'c'])
    await clock.step(2000)
    expect(await keys()).toEqual(['a', 'c'])
    await clock.step(60_000)
    expect(await keys()).toEqual([])
    expect(expiry.size).toBe(0)
  })

  it('leaves a key alone that was written again, until its new time', async () => {
    expiry.track('a', await put(store, 'a', '1'), 5000)
    expiry.track('b', await put(store, 'b', '1'), 5000)
    await put(store, 'a', '2')
    expiry.track('b', await put(store, 'b', '2'), 20_000)
    await clock.step(10_000)
    expect(await keys()).toEqual(['a', 'b'])
    await clock.step(11_000)
    expect(await keys()).toEqual(['a'])
    expect(text(await store.get('a'))).toBe('2')
    expect(expiry.size).toBe(0)
  })

  it('does a bounded number of deletions at a time, and gets through all of them', async () => {
    for (let i = 0; i < 1000; i++) expiry.track(`k${i}`, await put(store, `k${i}`, '1'), 900)
    await clock.step(1000)
    expect((await keys()).length).toBe(750)
    await clock.step(300)
    expect(await keys()).toEqual([])
  })

  it('tries again when the store could not write', async () => {
    expiry.track('a', await put(store, 'a', '1'), 500)
    const txn = store.txn.bind(store)
    store.txn = async () => {
      throw new StoreError('unavailable', 'full')
    }
    await clock.step(3000)
    expect(await keys()).toEqual(['a'])
    store.txn = txn
    await clock.step(1000)
    expect(await keys()).toEqual([])
  })
})
