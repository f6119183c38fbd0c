import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { CacheEvent, Entry } from '../../../components/api-server/watch-cache/entry.ts'
import { Deliveries } from '../../../components/api-server/watch-cache/deliveries.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import { RecentBytes } from '../../../components/api-server/watch-cache/recent-bytes.ts'
import { Watcher } from '../../../components/api-server/watch-cache/watcher.ts'
import { storeKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { WatchCache } from '../../../components/api-server/watch-cache/watch-cache.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const { configMaps } = resourcesOf(dialects.kubernetes)

function configMap(name: string, data: Record<string, string> = {}): KubeObject {
  return {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, namespace: 'a', uid: `uid-${name}`, labels: { app: data['app'] ?? '' } },
    data,
  }
}

async function setUp(options: { historyBytes?: number } = {}) {
  const store = createMemoryStore()
  const clock = new FakeClock()
  const cache = new WatchCache({ store, clock, ...options })
  const stop = new AbortController()
  await cache.start(stop.signal)
  const put = async (object: KubeObject, expectedRevision = 0): Promise<number> => {
    const key = storeKey(configMaps, `a/${object.metadata.name ?? ''}`)
    const result = await store.txn({ key, expectedRevision, value: encodeForStore(object) })
    if (!result.ok) throw new Error('lost')
    await cache.applied(result.revision)
    return result.revision
  }
  const remove = async (name: string, expectedRevision: number): Promise<number> => {
    const key = storeKey(configMaps, `a/${name}`)
    const result = await store.txn({ key, expectedRevision, value: null })
    if (!result.ok) throw new Error('lost')
    await cache.applied(result.revision)
    return result.revision
  }
  return { store, clock, cache, put, remove }
}

function watcher(matches?: (entry: Entry) => boolean, maxQueuedBytes = 1_000_000): Watcher {
  return new Watcher({
    keyPrefix: 'a/',
    exactKey: false,
    matches,
    form: 'test',
    encode: (type, entry) =>
      Buffer.from(`${type} ${entry.key} ${entry.revision} ${entry.object()['data']?.app ?? ''}`),
    takeFirst: () => undefined,
    deliveries: new Deliveries(),
    maxQueuedBytes,
  })
}

const taken = (from: Watcher): string[] => from.take().map(String)

describe('watch cache', () => {
  it('an entry shows the stored object with the revision of its commit', async () => {
    const { cache, put } = await setUp()
    const revision = await put(configMap('x', { app: 'one' }))
    const entry = cache.collection(configMaps).get('a/x')
    expect(entry?.object()).toEqual({
      ...configMap('x', { app: 'one' }),
      metadata: { ...configMap('x', { app: 'one' }).metadata, resourceVersion: String(revision) },
    })
    expect(entry?.bytes.toString().endsWith('}\n')).toBe(true)
  })

  it('a value that looks like the version slot does not move it', async () => {
    const { cache, put } = await setUp()
    const object = configMap('x', { app: '"resourceVersion":""' })
    object.metadata.annotations = { a: '"resourceVersion":"' }
    const revision = await put(object)
    const shown = cache.get(configMaps, 'a', 'x')
    expect(shown?.metadata.resourceVersion).toBe(String(revision))
    expect(shown?.['data']).toEqual(object['data'])
  })

  it('an exact snapshot shows the state of its revision, whatever came later', async () => {
    const { cache, put, remove } = await setUp()
    const first = await put(configMap('x', { app: 'one' }))
    const second = await put(configMap('y', { app: 'two' }))
    const third = await put(configMap('x', { app: 'three' }), first)
    await remove('y', second)
    const at = (revision: number): string[] =>
      [...(cache.collection(configMaps).snapshotAt(revision)?.entries('') ?? [])].map(
        (entry) => `${entry.key}=${String(entry.object()['data']?.app)}`,
      )
    expect(at(first)).toEqual(['a/x=one'])
    expect(at(second)).toEqual(['a/x=one', 'a/y=two'])
    expect(at(third)).toEqual(['a/x=three', 'a/y=two'])
    expect(at(third + 1)).toEqual(['a/x=three'])
  })

  it('a snapshot counts the keys of its own moment, whatever comes and goes later', async () => {
    const { cache, put, remove } = await setUp()
    const collection = cache.collection(configMaps)
    const first = await put(configMap('x'))
    await put(configMap('y'))
    const two = collection.snapshot(cache.revision)
    expect(two.count('a/')).toBe(2)
    two.noteCount('a/', 'a/y', 1)
    await remove('x', first)
    const newest = collection.snapshot(cache.revision)
    expect([newest.count('a/'), newest.count('a/', 'a/y'), newest.count('')]).toEqual([1, 1, 1])
    expect([two.count('a/'), two.count('a/', 'a/y'), two.count('a/', 'a/z')]).toEqual([2, 1, 0])
    await put(configMap('z'))
    // As many keys as then, but others.
    const then = collection.snapshotAt(two.revision)
    expect([then?.count('a/'), then?.count('a/', 'a/z'), then?.count('b/')]).toEqual([2, 0, 0])
    expect(collection.snapshot(cache.revision).count('b/')).toBe(0)
  })

  it('a snapshot older than the history is gone, a younger one is not', async () => {
    const { cache, put, clock } = await setUp()
    const first = await put(configMap('x', { app: '1' }))
    const second = await put(configMap('x', { app: '2' }), first)
    await clock.step(5 * 60_000 + 1)
    const third = await put(configMap('x', { app: '3' }), second)
    const collection = cache.collection(configMaps)
    expect(collection.snapshotAt(first)).toBeUndefined()
    expect(collection.snapshotAt(second)).toBeDefined()
    expect(collection.snapshotAt(third)).toBeDefined()
    expect(collection.attach(watcher(), first)).toBe(false)
  })

  it('a watcher sees every commit after its revision once, in order', async () => {
    const { cache, put, remove } = await setUp()
    const first = await put(configMap('x', { app: 'one' }))
    const second = await put(configMap('y', { app: 'two' }))
    const seen = watcher()
    expect(cache.collection(configMaps).attach(seen, first)).toBe(true)
    const third = await put(configMap('x', { app: 'three' }), first)
    const fourth = await remove('x', third)
    expect(taken(seen)).toEqual([
      `ADDED a/y ${second} two`,
      `MODIFIED a/x ${third} three`,
      `DELETED a/x ${fourth} three`,
    ])
  })

  it('an object that leaves the selector is deleted for the watcher, one that enters is added', async () => {
    const { cache, put } = await setUp()
    const seen = watcher((entry) => entry.labels['app'] === 'in')
    cache.collection(configMaps).attach(seen, 0)
    const first = await put(configMap('x', { app: 'out' }))
    const second = await put(configMap('x', { app: 'in' }), first)
    const third = await put(configMap('x', { app: 'out' }), second)
    await put(configMap('x', { app: 'still out' }), third)
    expect(taken(seen)).toEqual([`ADDED a/x ${second} in`, `DELETED a/x ${third} in`])
  })

  it('a watcher that does not keep up is cut off instead of growing', async () => {
    const { cache, put } = await setUp()
    const slow = watcher(undefined, 60)
    const quick = watcher()
    cache.collection(configMaps).attach(slow, 0)
    cache.collection(configMaps).attach(quick, 0)
    for (let at = 0; at < 10; at += 1) await put(configMap(`x${at}`))
    expect(slow.overflowed).toBe(true)
    expect(slow.take()).toEqual([])
    expect(taken(quick)).toHaveLength(10)
  })

  it('a frame is encoded once for all watchers of a form', async () => {
    const { cache, put } = await setUp()
    const watchers = Array.from({ length: 5 }, () => watcher())
    for (const one of watchers) cache.collection(configMaps).attach(one, 0)
    await put(configMap('x'))
    const frames = watchers.map((one) => one.take()[0])
    expect(new Set(frames).size).toBe(1)
  })

  it('a cache started on a store that holds objects serves them and their versions', async () => {
    const { store, put } = await setUp()
    const revision = await put(configMap('x', { app: 'kept' }))
    const again = new WatchCache({ store, clock: new FakeClock() })
    await again.start(new AbortController().signal)
    expect(again.revision).toBe(revision)
    expect(again.list(configMaps, 'a').map((object) => object.metadata.resourceVersion)).toEqual([
      String(revision),
    ])
  })

  it('bytes made for a reader stay while they are few, and are the same when they are made again', () => {
    const page = new RecentBytes(1000)
    const entries = ['a', 'b', 'c'].map((name, index) => {
      const stored = encodeForStore(configMap(name, { app: 'x'.repeat(300) }))
      const entry = new Entry(`a/${name}`, index + 7, stored)
      entry.lieIn(page)
      return entry
    })
    const [first, second, third] = entries as [Entry, Entry, Entry]
    const copied = (entry: Entry): string => {
      const target = Buffer.alloc(entry.mostBytes)
      return target.toString('utf8', 0, entry.copyTo(target, 0, 0))
    }
    const made = first.bytes
    expect(JSON.parse(made.toString())).toMatchObject({ metadata: { resourceVersion: '7' } })
    expect(first.bytes).toBe(made)
    expect(`${copied(first)}\n`).toBe(made.toString())
    const later = second.bytes
    expect(second.bytes).toBe(later)
    expect(third.bytes.length).toBeGreaterThan(400)
    expect(first.bytes).not.toBe(made)
    expect(first.bytes).toEqual(made)
    expect(`${copied(second)}\n`).toBe(later.toString())
    expect(second.object().metadata.resourceVersion).toBe('8')
  })

  it('a wait for a commit ends when the cache no longer follows the store, be it begun before or after', async () => {
    const store = createMemoryStore()
    const cache = new WatchCache({ store, clock: new FakeClock() })
    const stop = new AbortController()
    const { run } = await cache.start(stop.signal)
    const before = cache.applied(7)
    stop.abort()
    await run
    await expect(before).rejects.toMatchObject({ code: 'closed' })
    await expect(cache.applied(7)).rejects.toMatchObject({ code: 'closed' })
    await cache.applied(0)
  })

  it('a commit is decoded once for all who look at it, and stays in memory as bytes and the field that finds its watchers', () => {
    const bytes = encodeForStore({ metadata: { name: 'a' }, spec: { nodeName: 'n1' } })
    const entry = new Entry('a', 1, bytes)
    const asked: string[] = []
    const nodeName = (): string =>
      entry.fieldValue('spec.nodeName', (object) => {
        asked.push('spec.nodeName')
        return String(object['spec']?.nodeName)
      })
    expect(nodeName()).toBe('n1')
    const delivered = entry.object()
    expect(entry.object()).toBe(delivered)
    entry.settle()
    expect(entry.settledBytes).toBe(bytes.length)
    expect(nodeName()).toBe('n1')
    expect(asked).toEqual(['spec.nodeName'])
    expect(entry.object()).toEqual(delivered)
    expect(entry.object()).not.toBe(delivered)
    expect(entry.fieldValue('spec.other', () => 'another')).toBe('another')
  })

  it('what a writer decoded is forgotten once it is replaced, but what is known by its identity', async () => {
    const { cache, put } = await setUp()
    const revision = await put(configMap('one'))
    const heldRevision = await put(configMap('held'))
    const collection = cache.collection(configMaps)
    const [one, held] = ['a/one', 'a/held'].map((key) => collection.get(key)) as [Entry, Entry]
    const [decoded, known] = [one.object(), held.heldObject()]
    expect(one.object()).toBe(decoded)
    await put(configMap('one', { app: 'new' }), revision)
    await put(configMap('held', { app: 'new' }), heldRevision)
    expect(one.object()).toEqual(decoded)
    expect(one.object()).not.toBe(decoded)
    expect(held.object()).toBe(known)
    expect(held.settledBytes).toBeGreaterThan(1.9 * one.settledBytes)
  })

  it('an object and its watch frames keep little more memory alive than their own, whatever they were made beside', () => {
    for (const size of [10, 1000, 5000, 100_000]) {
      const bytes = encodeForStore({
        metadata: { name: 'a', annotations: { a: 'x'.repeat(size) } },
      })
      const entry = new Entry('a', 1, bytes)
      const event = new CacheEvent({ revision: 1, entry, previous: undefined, appliedAtMs: 0 })
      const framed = `{"object":${entry.bytes.toString()}}`
      const frame = event.frame('json', () => Buffer.from(framed))
      expect(frame.toString()).toBe(framed)
      for (const { buffer } of [bytes, entry.bytes, frame]) {
        expect(buffer.byteLength).toBeLessThanOrEqual(Math.max(16 * 1024, size + 200))
      }
      expect((JSON.parse(entry.bytes.toString()) as KubeObject).metadata).toMatchObject({
        resourceVersion: '1',
        annotations: { a: 'x'.repeat(size) },
      })
    }
  })
})

describe('history', () => {
  const large = 'x'.repeat(10_000)

  it('holds no more bytes than it may, and says up to where it was cut', async () => {
    const { cache, put } = await setUp({ historyBytes: 100_000 })
    const collection = cache.collection(configMaps)
    let revision = await put(configMap('one', { large }))
    const first = revision
    expect(cache.history.cutRevision).toBe(0)
    for (let i = 0; i < 50; i += 1) {
      revision = await put(configMap('one', { large, i: String(i) }), revision)
      // The newest commit stays, whatever its size.
      expect(cache.history.bytes).toBeLessThan(100_000 + 15_000)
    }
    expect(cache.history.cutRevision).toBeGreaterThan(first)
    expect(collection.snapshotAt(first)).toBeUndefined()
    expect(collection.attach(watcher(), cache.history.cutRevision - 1)).toBe(false)
    const late = watcher()
    expect(collection.attach(late, cache.history.cutRevision)).toBe(true)
    expect(taken(late)).toHaveLength(revision - cache.history.cutRevision)
  })

  it('counts the frames that were encoded for watchers, and holds nothing once it is over', async () => {
    const { cache, clock, put } = await setUp({ historyBytes: 50_000 })
    const watching = new Watcher({
      keyPrefix: '',
      exactKey: false,
      matches: undefined,
      form: 'large',
      encode: () => Buffer.alloc(9000),
      takeFirst: () => undefined,
      deliveries: new Deliveries(),
      maxQueuedBytes: 1_000_000,
    })
    cache.collection(configMaps).attach(watching, cache.revision)
    for (let i = 0; i < 20; i += 1) await put(configMap(`map-${i}`))
    expect(cache.history.bytes).toBeGreaterThan(9000)
    expect(cache.history.bytes).toBeLessThan(50_000 + 15_000)
    await clock.step(6 * 60_000)
    cache.forget()
    expect(cache.history.bytes).toBe(0)
  })

  it('of what changes little is kept while another kind writes much less than it may', async () => {
    const { cache, put, remove } = await setUp({ historyBytes: 1_000_000 })
    const before = cache.revision
    const revision = await put(configMap('one', { large }))
    await remove('one', revision)
    const late = watcher()
    expect(cache.collection(configMaps).attach(late, before)).toBe(true)
    expect(taken(late)).toHaveLength(2)
  })
})

describe('a watcher whose client does not read', () => {
  it('is handed its frames in portions, in order, and none is lost', async () => {
    const { cache, put } = await setUp()
    const slow = new Watcher({
      keyPrefix: 'a/',
      exactKey: false,
      matches: undefined,
      form: 'large',
      encode: (_, entry) => Buffer.alloc(100_000, entry.key.at(-1)),
      takeFirst: () => undefined,
      deliveries: new Deliveries(),
      maxQueuedBytes: 10_000_000,
    })
    cache.collection(configMaps).attach(slow, cache.revision)
    const names = 'abcdefghij'.split('')
    for (const name of names) await put(configMap(name))
    expect(slow.queuedBytes).toBe(1_000_000)
    const seen: string[] = []
    for (let frames = slow.take(); frames.length > 0; frames = slow.take()) {
      expect(frames.length).toBeLessThanOrEqual(2)
      seen.push(...frames.map((frame) => String.fromCharCode(frame[0] ?? 0)))
    }
    expect(seen).toEqual(names)
    expect(slow.queuedBytes).toBe(0)
    expect(slow.isIdle).toBe(true)
  })

  it('is shown the present state as it reads, then what happened meanwhile', async () => {
    const { cache, put } = await setUp()
    for (const name of 'abcdefghij') await put(configMap(name))
    let encoded = 0
    const slow = new Watcher({
      keyPrefix: 'a/',
      exactKey: false,
      matches: undefined,
      form: 'large',
      encode: (type, entry) => {
        encoded += 1
        return Buffer.from(`${type} ${entry.key}`.padEnd(100_000))
      },
      takeFirst: () => (type, entry) => Buffer.from(`first ${type} ${entry.key}`),
      deliveries: new Deliveries(),
      maxQueuedBytes: 10_000_000,
    })
    const collection = cache.collection(configMaps)
    slow.initial(collection.snapshot(cache.revision).entries(''))
    collection.attach(slow, cache.revision)
    expect(encoded).toBe(0)
    await put(configMap('new'))
    slow.push(Buffer.from('bookmark'))
    const seen: string[] = []
    for (let frames = slow.take(); frames.length > 0; frames = slow.take()) {
      expect(encoded).toBeLessThanOrEqual(seen.length + 4)
      seen.push(...frames.map((frame) => frame.toString().trim()))
    }
    const others = 'bcdefghij'.split('').map((name) => `ADDED a/${name}`)
    expect(seen).toEqual(['first ADDED a/a', ...others, 'first ADDED a/new', 'bookmark'])
  })

  it('that is cut off holds nothing more', async () => {
    const { cache, put } = await setUp()
    const slow = watcher(undefined, 30)
    cache.collection(configMaps).attach(slow, cache.revision)
    for (const name of 'abc') await put(configMap(name))
    expect(slow.overflowed).toBe(true)
    expect(slow.queuedBytes).toBe(0)
    expect(slow.take()).toEqual([])
  })
})
