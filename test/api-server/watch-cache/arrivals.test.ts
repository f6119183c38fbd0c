/** A watch cache whose objects wait for keys: those that another server wrote under a seed that this one does not know. */
import { expect, test } from 'vitest'
import type { Transformer } from '../../../components/api-server/encryption/transformer.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import { storeKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { WatchCache } from '../../../components/api-server/watch-cache/watch-cache.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const { secrets } = resourcesOf(dialects.kubernetes)

/** Stored objects have a key's name before them, and are read when a test has handed out that key. */
function lockedBytes() {
  const known = new Set<string>()
  const asked = new Map<string, PromiseWithResolvers<void>>()
  const keyOf = (stored: Buffer): string => stored.toString('latin1', 0, 1)
  const transformer: Transformer = {
    toStorage: (bytes) => bytes,
    prepare: (stored) => {
      const key = keyOf(stored)
      if (known.has(key)) return undefined
      const waiting = asked.get(key) ?? Promise.withResolvers<void>()
      asked.set(key, waiting)
      return waiting.promise
    },
    fromStorage: (stored) =>
      known.has(keyOf(stored))
        ? { ok: true, bytes: stored.subarray(1), isStale: false }
        : { ok: false, why: `key ${keyOf(stored)} is out of reach` },
  }
  const answer = (key: string): void => {
    asked.get(key)?.resolve()
    asked.delete(key)
  }
  return {
    transformer,
    asked,
    give: (key: string): void => {
      known.add(key)
      answer(key)
    },
    fail: answer,
  }
}

async function setUp() {
  const store = createMemoryStore()
  const locked = lockedBytes()
  const transformers = { of: () => locked.transformer }
  const cache = new WatchCache({ store, clock: new FakeClock(), transformers })
  const put = async (key: string, name: string): Promise<number> => {
    const object = { kind: 'Secret', apiVersion: 'v1', metadata: { name, namespace: 'a' } }
    const value = Buffer.concat([Buffer.from(key), encodeForStore(object)])
    const result = await store.txn({
      key: storeKey(secrets, `a/${name}`),
      expectedRevision: 0,
      value,
    })
    if (!result.ok) throw new Error('lost')
    return result.revision
  }
  const names = (): (string | undefined)[] =>
    cache.list(secrets, 'a').map(({ metadata }) => metadata.name)
  return { cache, put, names, ...locked }
}

test('events are applied in order: those behind one that waits for a key wait, too', async () => {
  const { cache, put, names, asked, give } = await setUp()
  give('k')
  await cache.start(new AbortController().signal)
  await put('k', 'one')
  expect(names()).toEqual(['one'])
  await put('x', 'two')
  await put('k', 'three')
  const last = await put('y', 'four')
  await settle()
  expect(names()).toEqual(['one'])
  const seen: string[] = []
  void cache.applied(last - 1).then(() => seen.push(...names().map(String)))
  give('x')
  await settle()
  expect(seen).toEqual(expect.arrayContaining(['one', 'two', 'three']))
  expect(names()).toHaveLength(3)
  expect([...asked.keys()]).toEqual(['y'])
  give('y')
  await cache.applied(last)
  expect(names()).toHaveLength(4)
  // Nothing waits any more: what comes now is applied before its commit is answered.
  await put('k', 'five')
  expect(names()).toHaveLength(5)
})

test('a key that does not come leaves its object unreadable and lets the next ones in, and is looked for again', async () => {
  const { cache, put, names, give, fail, asked } = await setUp()
  give('k')
  await cache.start(new AbortController().signal)
  await put('x', 'one')
  const last = await put('k', 'two')
  fail('x')
  await cache.applied(last)
  expect(names()).toEqual(['two'])
  expect([...cache.unreadable()]).toMatchObject([{ key: 'a/one', why: 'key x is out of reach' }])
  const looking = cache.rereadUnreadable()
  await settle()
  expect([...asked.keys()]).toEqual(['x'])
  give('x')
  expect(await looking).toBe(1)
  expect(names()).toHaveLength(2)
  expect([...cache.unreadable()]).toEqual([])
})

test('a start waits for the keys of all that is stored', async () => {
  const { cache, put, names, give } = await setUp()
  await put('x', 'one')
  await put('y', 'two')
  const starting = cache.start(new AbortController().signal)
  await settle()
  give('x')
  give('y')
  await starting
  expect(names()).toHaveLength(2)
})
