import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import { SplitCache } from '../../../components/api-server/watch-cache/split-cache.ts'
import { storeKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { WatchCache } from '../../../components/api-server/watch-cache/watch-cache.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { StoreError, type Store } from '../../../components/store/store.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { laggingStore } from '../../support/lagging-store.ts'

const { configMaps, events } = resourcesOf(dialects.kubernetes)
const own = new Set(['core/events'])

async function setUp() {
  const clock = new FakeClock()
  const [main, other] = [createMemoryStore(), createMemoryStore()]
  const rest = new WatchCache({ store: main, clock, takes: (prefix) => !own.has(prefix) })
  const apart = new WatchCache({ store: other, clock, takes: (prefix) => own.has(prefix) })
  const stop = new AbortController()
  await rest.start(stop.signal)
  const { run } = await apart.start(stop.signal)
  const cache = new SplitCache(rest, [{ cache: apart, storagePrefixes: own }])
  /** Puts an object into that store, one second after the last. */
  const put = async (store: Store, resource: Resource, name: string): Promise<void> => {
    await clock.step(1000)
    const object = { kind: resource.kind, metadata: { name, namespace: 'a' } }
    const key = storeKey(resource, `a/${name}`)
    await store.txn({ key, expectedRevision: 0, value: encodeForStore(object) })
  }
  return { main, other, cache, put, run }
}

describe('caches of several stores', () => {
  it('show each resource from its store alone', async () => {
    const { main, other, cache, put } = await setUp()
    await put(main, configMaps, 'one')
    await put(main, events, 'hidden')
    await put(other, events, 'two')
    await put(other, configMaps, 'hidden')
    const names = (resource: Resource) => cache.list(resource).map(({ metadata }) => metadata.name)
    expect(names(configMaps)).toEqual(['one'])
    expect(names(events)).toEqual(['two'])
    expect([...cache.objectsIn('a')].map(({ key }) => key)).toEqual(['a/one', 'a/two'])
    expect([...cache.sizes()].map(({ prefix, objects }) => `${prefix} ${objects}`)).toEqual([
      'core/configmaps 1',
      'core/events 1',
    ])
  })

  it('tell the changes of all stores, the newest first', async () => {
    const { main, other, cache, put } = await setUp()
    await put(other, events, 'one')
    await put(main, configMaps, 'two')
    await put(main, configMaps, 'three')
    await put(other, events, 'four')
    const told = [...cache.history.newestFirst()].map(({ key }) => key)
    expect(told).toEqual(['a/four', 'a/three', 'a/two', 'a/one'])
  })

  it('catch up with all stores, but for one that is away', async () => {
    const [main, other] = [createMemoryStore(), createMemoryStore()]
    let isAway = false
    const lagging = laggingStore(other)
    const apart: Store = {
      ...lagging,
      revision: async () => {
        if (isAway) throw new StoreError('unavailable', 'etcd does not answer')
        return await lagging.revision()
      },
    }
    const clock = new FakeClock()
    const rest = new WatchCache({ store: laggingStore(main), clock })
    const ofEvents = new WatchCache({ store: apart, clock })
    for (const cache of [rest, ofEvents]) await cache.start(new AbortController().signal)
    const cache = new SplitCache(rest, [{ cache: ofEvents, storagePrefixes: own }])
    const write = async (store: Store, resource: Resource, name: string): Promise<void> => {
      const object = { kind: resource.kind, metadata: { name, namespace: 'a' } }
      const key = storeKey(resource, `a/${name}`)
      await store.txn({ key, expectedRevision: 0, value: encodeForStore(object) })
    }
    const names = (resource: Resource) => cache.list(resource).map(({ metadata }) => metadata.name)

    await write(main, configMaps, 'one')
    await write(other, events, 'one')
    // An Event is decided on by what lies in the other store, too: its namespace.
    await cache.catchUp(events)
    expect([names(configMaps), names(events)]).toEqual([['one'], ['one']])

    isAway = true
    await write(main, configMaps, 'two')
    await write(other, events, 'two')
    await cache.refresh()
    expect([names(configMaps), names(events)]).toEqual([['one', 'two'], ['one']])
    await expect(cache.catchUp(events)).rejects.toThrow('etcd does not answer')
    await cache.catchUp(configMaps)

    isAway = false
    await expect
      .poll(async () => {
        await cache.refresh()
        return names(events)
      })
      .toEqual(['one', 'two'])
  })

  it('follow their stores as long as all do', async () => {
    const { other, cache, run } = await setUp()
    expect(cache.isFollowing).toBe(true)
    void other.close()
    await expect(run).rejects.toThrow('closed')
    expect(cache.isFollowing).toBe(false)
  })
})
