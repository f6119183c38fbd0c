/** The compactor on a fake clock. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Compactor } from '../../components/store/compactor.ts'
import { createMemoryStore } from '../../components/store/memory-store.ts'
import { StoreError, type Store } from '../../components/store/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { put } from './actions.ts'

const minute = 60_000

describe('Compactor', () => {
  let store: Store
  let clock: FakeClock
  let controller: AbortController
  beforeEach(() => {
    store = createMemoryStore()
    clock = new FakeClock()
    controller = new AbortController()
  })
  afterEach(async () => {
    controller.abort()
    await store.close()
  })
  const readable = async (atRevision: number): Promise<boolean> => {
    try {
      await store.range({ prefix: '', atRevision })
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'compacted' })
      return false
    }
  }

  it('[LIM-001] keeps what was newest 4 minutes ago and has dropped what was replaced 6 minutes ago', async () => {
    const running = new Compactor({ store, clock }).run(controller.signal)
    const revisions: number[] = []
    for (let i = 0; i < 11; i++) {
      revisions.push(await put(store, 'a', `${i}`))
      if (i < 10) await clock.step(minute)
    }
    const ages = await Promise.all(revisions.toReversed().map(readable))
    expect(ages.slice(0, 5)).toEqual([true, true, true, true, true])
    expect(ages.slice(7)).toEqual([false, false, false, false])
    controller.abort()
    await running
  })

  it('drops nothing in the first 5 minutes, whatever was there before', async () => {
    const first = await put(store, 'a', '1')
    await put(store, 'a', '2')
    const running = new Compactor({ store, clock }).run(controller.signal)
    await clock.step(5 * minute - 1)
    expect(await readable(first)).toBe(true)
    await clock.step(minute)
    expect(await readable(first)).toBe(false)
    controller.abort()
    await running
  })

  it('follows a cut within a second, however young what it drops is', async () => {
    const first = await put(store, 'a', '1')
    const second = await put(store, 'a', '2')
    const third = await put(store, 'a', '3')
    let cut = 0
    const running = new Compactor({ store, clock, cutRevision: () => cut }).run(controller.signal)
    await clock.step(1000)
    expect(await readable(first)).toBe(true)
    cut = second
    await clock.step(1000)
    expect(await Promise.all([first, second, third].map(readable))).toEqual([false, true, true])
    controller.abort()
    await running
  })

  it('tries again when the store could not write, and rejects on any other failure', async () => {
    const first = await put(store, 'a', '1')
    await put(store, 'a', '2')
    const compact = store.compact.bind(store)
    let failure = new StoreError('unavailable', 'full')
    store.compact = async () => {
      throw failure
    }
    const running = new Compactor({ store, clock, historyMs: minute }).run(controller.signal)
    await clock.step(2 * minute)
    expect(await readable(first)).toBe(true)
    store.compact = compact
    await clock.step(minute)
    expect(await readable(first)).toBe(false)
    failure = new StoreError('closed', 'closed')
    store.compact = async () => {
      throw failure
    }
    const rejected = expect(running).rejects.toBe(failure)
    await clock.step(2 * minute)
    await rejected
  })
})
