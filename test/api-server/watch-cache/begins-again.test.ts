/** The watch cache when the store has compacted history that it has not seen. */
import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { Deliveries } from '../../../components/api-server/watch-cache/deliveries.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import { storeKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { WatchCache } from '../../../components/api-server/watch-cache/watch-cache.ts'
import { Watcher } from '../../../components/api-server/watch-cache/watcher.ts'
import { forwardingStore } from '../../../components/store/forwarding-store.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { StoreError, type Store } from '../../../components/store/store.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const { configMaps } = resourcesOf(dialects.kubernetes)
const keyOf = (name: string): string => storeKey(configMaps, `a/${name}`)

/** A store whose watches can be cut off by a compaction; `isAway` makes reads fail. */
function cutStore() {
  const store = createMemoryStore()
  const cuts = new Set<(error: Error) => void>()
  let isAway = false
  const cuttable: Store = {
    ...forwardingStore(store),
    range: async (options) => {
      if (isAway) throw new StoreError('unavailable', 'the store is away')
      return await store.range(options)
    },
    watch: async ({ prefix, fromRevision, signal }, sink) => {
      const { promise, reject } = Promise.withResolvers<never>()
      const stop = new AbortController()
      const cut = (error: Error): void => {
        stop.abort()
        reject(error)
      }
      cuts.add(cut)
      const both = AbortSignal.any([signal, stop.signal])
      try {
        await Promise.race([store.watch({ prefix, fromRevision, signal: both }, sink), promise])
      } finally {
        cuts.delete(cut)
      }
    },
  }
  const write = async (name: string, text: string | undefined): Promise<number> => {
    const expectedRevision = (await store.get(keyOf(name)))?.modRevision ?? 0
    const object = { metadata: { name, namespace: 'a', uid: name }, data: { text } }
    const value = text === undefined ? null : encodeForStore(object)
    const result = await store.txn({ key: keyOf(name), expectedRevision, value })
    if (!result.ok) throw new Error('lost')
    return result.revision
  }
  return {
    store: cuttable,
    write,
    cut: () => {
      for (const end of cuts) end(new StoreError('compacted', 'history is gone'))
    },
    setAway: (away: boolean) => {
      isAway = away
    },
  }
}

function watcherOf(deliveries: Deliveries): Watcher {
  return new Watcher({
    keyPrefix: 'a/',
    exactKey: false,
    matches: undefined,
    form: 'test',
    encode: (type, entry) => Buffer.from(`${type} ${entry.key}`),
    takeFirst: () => undefined,
    deliveries,
    maxQueuedBytes: 1_000_000,
  })
}

async function setUp() {
  const made = cutStore()
  const clock = new FakeClock()
  for (const name of ['same', 'changed', 'gone']) await made.write(name, 'old')
  const cache = new WatchCache({ store: made.store, clock })
  const stop = new AbortController()
  const { run } = await cache.start(stop.signal)
  const told: string[] = []
  cache.onChange(configMaps, ({ type, key, object }) =>
    told.push(`${type} ${key} ${String(object()['data'] && JSON.stringify(object()['data']))}`),
  )
  return { ...made, clock, cache, told, run, stop }
}

/** What happens while the cache does not follow, and the end of that. */
async function changeUnseen(at: Awaited<ReturnType<typeof setUp>>): Promise<number> {
  at.setAway(true)
  at.cut()
  await at.write('new', 'one')
  await at.write('gone', undefined)
  await at.write('brief', 'one')
  await at.write('brief', undefined)
  const last = await at.write('changed', 'new')
  at.setAway(false)
  await at.clock.step(5000)
  await at.cache.applied(last)
  return last
}

describe('a watch cache that history was compacted away from', () => {
  it('holds the newest state again, and tells handlers the differences, deletions first', async () => {
    const at = await setUp()
    const same = at.cache.collection(configMaps).get('a/same')
    await changeUnseen(at)
    expect(at.told).toEqual([
      'DELETED a/gone {"text":"old"}',
      'MODIFIED a/changed {"text":"new"}',
      'ADDED a/new {"text":"one"}',
    ])
    const names = at.cache.list(configMaps, 'a').map(({ metadata }) => metadata.name)
    expect(names).toEqual(['changed', 'new', 'same'])
    expect(at.cache.collection(configMaps).get('a/same')).toBe(same)
    expect(at.cache.collection(configMaps).snapshot(at.cache.revision).count('a/')).toBe(3)
  })

  it('ends watches, has no history from before, and goes on', async () => {
    const at = await setUp()
    const collection = at.cache.collection(configMaps)
    const before = at.cache.revision
    const kept = await at.write('kept', 'one')
    await at.cache.applied(kept)
    const watcher = watcherOf(at.cache.deliveries)
    expect(collection.attach(watcher, before)).toBe(true)
    const last = await changeUnseen(at)
    expect(watcher.hasEnded).toBe(true)
    expect(watcher.take().map(String)).toEqual(['ADDED a/kept'])
    expect(collection.attach(watcherOf(at.cache.deliveries), kept)).toBe(false)
    expect(collection.snapshotAt(kept)).toBeUndefined()
    expect(at.cache.history.bytes).toBe(0)

    const next = watcherOf(at.cache.deliveries)
    expect(collection.attach(next, last)).toBe(true)
    await at.cache.applied(await at.write('later', 'one'))
    expect(next.take().map(String)).toEqual(['ADDED a/later'])
    at.stop.abort()
    await at.run
  })

  it('serves what it has while the store cannot be read, and catches up after', async () => {
    const at = await setUp()
    at.setAway(true)
    at.cut()
    const last = await at.write('new', 'one')
    const caughtUp = at.cache.applied(last)
    await at.clock.step(500)
    expect(at.cache.list(configMaps, 'a')).toHaveLength(3)
    expect(at.cache.isFollowing).toBe(true)
    at.setAway(false)
    await at.clock.step(5000)
    await caughtUp
    expect(at.cache.list(configMaps, 'a')).toHaveLength(4)
  })

  it('stops at once when it is told to, though the store cannot be read', async () => {
    const at = await setUp()
    at.setAway(true)
    at.cut()
    await at.clock.step(500)
    at.stop.abort()
    await at.run
    expect(at.cache.isFollowing).toBe(false)
  })
})
