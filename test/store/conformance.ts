/** What every Store promises; run against each backend by its own test file. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeyValue, Store } from '../../components/store/store.ts'
import { bytes, collect, committed, line, put, remove, revisionOf, text, until } from './actions.ts'

const kv = (key: string, createRevision: number, modRevision: number): KeyValue => ({
  key,
  value: bytes(key),
  createRevision,
  modRevision,
})

/** A key is loaded with its revision, or, where the store numbers anew, after all that the other store had. */
type Loading = 'keeps' | 'renumbers'

/** `open` opens an empty store. */
export function describeStore(
  name: string,
  open: () => Promise<Store>,
  loading: Loading = 'keeps',
): void {
  describe(`${name}: the contract of a store`, () => {
    let store: Store
    let base: number
    beforeEach(async () => {
      store = await open()
      base = await store.revision()
    })
    afterEach(async () => {
      await store.close()
    })

    describe('compare and swap', () => {
      it('creates a key that does not exist, under the next revision', async () => {
        expect(await store.txn({ key: 'a', expectedRevision: 0, value: bytes('1') })).toEqual({
          ok: true,
          revision: base + 1,
        })
        expect(await store.get('a')).toEqual({
          key: 'a',
          value: bytes('1'),
          createRevision: base + 1,
          modRevision: base + 1,
        })
        expect(await store.revision()).toBe(base + 1)
      })

      it('answers what is there when a create or an update comes too late', async () => {
        await put(store, 'a', '1')
        await put(store, 'a', '2')
        const current = {
          key: 'a',
          value: bytes('2'),
          createRevision: base + 1,
          modRevision: base + 2,
        }
        for (const expectedRevision of [0, base + 1, base + 7])
          for (const value of [bytes('x'), null])
            expect(await store.txn({ key: 'a', expectedRevision, value })).toEqual({
              ok: false,
              current,
            })
        expect(await store.revision()).toBe(base + 2)
      })

      it('answers nothing as current when the key does not exist', async () => {
        expect(await store.txn({ key: 'a', expectedRevision: 5, value: bytes('x') })).toEqual({
          ok: false,
        })
        expect(await store.txn({ key: 'a', expectedRevision: 5, value: null })).toEqual({
          ok: false,
        })
      })

      it('starts a new life when a deleted key is created again', async () => {
        await put(store, 'a', '1')
        await remove(store, 'a')
        expect(await store.get('a')).toBeUndefined()
        await put(store, 'a', '2')
        await put(store, 'a', '3')
        expect(await store.get('a')).toMatchObject({
          createRevision: base + 3,
          modRevision: base + 4,
        })
      })

      it('commits nothing when it deletes what is not there', async () => {
        await put(store, 'b', '1')
        expect(await store.txn({ key: 'a', expectedRevision: 0, value: null })).toEqual({
          ok: true,
          revision: base + 1,
        })
        expect(await store.revision()).toBe(base + 1)
      })

      it('tells an empty value from none, and keeps big and binary ones', async () => {
        const big = Buffer.alloc(3_000_000, 'abc')
        const binary = Buffer.from([0, 255, 0, 128, 10])
        await store.txn({ key: 'big', expectedRevision: 0, value: Buffer.from(big) })
        await store.txn({ key: 'binary', expectedRevision: 0, value: Buffer.from(binary) })
        await store.txn({ key: 'empty', expectedRevision: 0, value: Buffer.alloc(0) })
        expect((await store.get('big'))?.value.equals(big)).toBe(true)
        expect((await store.get('binary'))?.value.equals(binary)).toBe(true)
        expect((await store.get('empty'))?.value.length).toBe(0)
        expect((await store.range({ prefix: 'e' })).kvs.map(text)).toEqual([''])
      })

      it('keeps the call order of concurrent commits', async () => {
        const results = await Promise.all(
          Array.from({ length: 200 }, (_, i) =>
            store.txn({ key: `k${i}`, expectedRevision: 0, value: bytes(`${i}`) }),
          ),
        )
        expect(results.map(committed)).toEqual(results.map((_, i) => base + 1 + i))
      })

      it('lets exactly one of many concurrent updates of a key win and shows it to the others', async () => {
        const first = await put(store, 'a', '0')
        const results = await Promise.all(
          ['1', '2', '3'].map((value) =>
            store.txn({ key: 'a', expectedRevision: first, value: bytes(value) }),
          ),
        )
        const current = {
          key: 'a',
          value: bytes('1'),
          createRevision: first,
          modRevision: first + 1,
        }
        expect(results).toEqual([
          { ok: true, revision: first + 1 },
          { ok: false, current },
          { ok: false, current },
        ])
      })

      it('decides a concurrent chain on one key link by link', async () => {
        const results = await Promise.all([
          store.txn({ key: 'a', expectedRevision: 0, value: bytes('1') }),
          store.txn({ key: 'a', expectedRevision: base + 1, value: null }),
          store.txn({ key: 'a', expectedRevision: 0, value: null }),
          store.txn({ key: 'a', expectedRevision: base + 1, value: bytes('late') }),
          store.txn({ key: 'a', expectedRevision: 0, value: bytes('2') }),
        ])
        expect(results).toEqual([
          { ok: true, revision: base + 1 },
          { ok: true, revision: base + 2 },
          { ok: true, revision: expect.any(Number) },
          { ok: false },
          { ok: true, revision: base + 3 },
        ])
        expect(await store.get('a')).toMatchObject({
          createRevision: base + 3,
          value: bytes('2'),
        })
      })

      it('refuses a key that has no UTF-8 form', async () => {
        await expect(
          store.txn({ key: 'a\ud800', expectedRevision: 0, value: bytes('1') }),
        ).rejects.toThrow(TypeError)
      })
    })

    describe('range', () => {
      it('returns the keys of a prefix in bytewise order', async () => {
        const keys = ['/b', '/a/\u{1F600}', '/a/\uFFFD', '/a/z', '/a/', '/a', '/a/B', '/a0']
        for (const key of keys) await put(store, key, key)
        const { kvs, more, revision } = await store.range({ prefix: '/a/' })
        expect(kvs.map((kv) => kv.key)).toEqual([
          '/a/',
          '/a/B',
          '/a/z',
          '/a/\uFFFD',
          '/a/\u{1F600}',
        ])
        expect(kvs.map(text)).toEqual(kvs.map((kv) => kv.key))
        expect([more, revision]).toEqual([false, base + keys.length])
        expect((await store.range({ prefix: '' })).kvs).toHaveLength(keys.length)
        expect((await store.range({ prefix: '/c' })).kvs).toEqual([])
      })

      it('pages with limit and from', async () => {
        for (const key of ['a1', 'a2', 'a3', 'b1']) await put(store, key, key)
        const page = async (from: string | undefined, limit: number) => {
          const { kvs, more } = await store.range({
            prefix: 'a',
            limit,
            ...(from === undefined ? {} : { from }),
          })
          return [...kvs.map((kv) => kv.key), more]
        }
        expect(await page(undefined, 2)).toEqual(['a1', 'a2', true])
        expect(await page('a2\0', 2)).toEqual(['a3', false])
        expect(await page('a2', 2)).toEqual(['a2', 'a3', false])
        expect(await page('0', 3)).toEqual(['a1', 'a2', 'a3', false])
        expect(await page('b', 3)).toEqual([false])
      })

      it('reads the past exactly: changed, deleted, recreated and later keys', async () => {
        await put(store, 'a', '1')
        await put(store, 'b', '1')
        await put(store, 'a', '2')
        await remove(store, 'b')
        await put(store, 'c', '1')
        await put(store, 'b', '2')
        const at = async (revision: number) =>
          (await store.range({ prefix: '', atRevision: base + revision })).kvs.map(
            (kv) => `${kv.key}=${kv.value.toString()}@${kv.modRevision - base}`,
          )
        expect(await at(0)).toEqual([])
        expect(await at(2)).toEqual(['a=1@1', 'b=1@2'])
        expect(await at(3)).toEqual(['a=2@3', 'b=1@2'])
        expect(await at(4)).toEqual(['a=2@3'])
        expect(await at(6)).toEqual(['a=2@3', 'b=2@6', 'c=1@5'])
      })

      it('refuses a revision that is not there yet', async () => {
        await put(store, 'a', '1')
        await expect(store.range({ prefix: '', atRevision: base + 2 })).rejects.toMatchObject({
          code: 'future-revision',
        })
      })

      it('reads one revision while others write', async () => {
        for (let i = 0; i < 300; i++) await put(store, `k${i}`, 'old')
        const reading = store.range({ prefix: 'k' })
        await Promise.all(Array.from({ length: 300 }, (_, i) => put(store, `k${i}`, 'new')))
        const { kvs, revision } = await reading
        expect([revision, kvs.length]).toEqual([base + 300, 300])
        expect(new Set(kvs.map(text))).toEqual(new Set(['old']))
      })
    })

    describe('watch', () => {
      it('hands out every commit after a revision with what was there before', async () => {
        await put(store, 'p/a', '1')
        const from = await put(store, 'p/a', '2')
        await put(store, 'p/a', '3')
        await put(store, 'q/a', 'other')
        const watch = collect(store, { prefix: 'p/', fromRevision: from })
        await remove(store, 'p/a')
        await put(store, 'p/a', '4')
        await until(() => watch.events.length === 3)
        expect(watch.events.map(line)).toEqual(['put p/a=3 was 2', 'delete p/a was 3', 'put p/a=4'])
        expect(watch.events.map(revisionOf)).toEqual([from + 1, from + 3, from + 4])
      })

      it('shows a commit before its txn resolves', async () => {
        const watch = collect(store, { prefix: '', fromRevision: base })
        await put(store, 'warm', 'up')
        await until(() => watch.events.length === 1)
        for (let i = 0; i < 20; i++) {
          await put(store, 'a', `${i}`)
          expect(watch.events).toHaveLength(i + 2)
        }
      })

      it('joins history and live commits without gaps or repeats under load', async () => {
        const write = async (writer: number) => {
          for (let i = 0; i < 60; i++) await put(store, `w${writer}`, `${i}`)
        }
        const writers = Array.from({ length: 8 }, (_, i) => write(i))
        const watches = []
        for (let i = 0; i < 12; i++) {
          await nextTurn()
          watches.push(collect(store, { prefix: 'w', fromRevision: base }))
        }
        await Promise.all(writers)
        const expected = Array.from({ length: 480 }, (_, i) => base + 1 + i)
        for (const watch of watches) {
          await until(() => watch.events.length >= 480)
          expect(watch.events.map(revisionOf)).toEqual(expected)
        }
      })

      it('ends with the commit that it is told to go to, also when another prefix has it', async () => {
        const first = await put(store, 'a/1', 'one')
        await put(store, 'a/2', 'two')
        const last = await put(store, 'b/1', 'three')
        const seen: string[] = []
        const { signal } = new AbortController()
        const from = { prefix: 'a/', fromRevision: first - 1, signal }
        await store.watch({ ...from, until: last }, (events) => {
          seen.push(...events.map(line))
        })
        expect(seen).toEqual(['put a/1=one', 'put a/2=two'])
        await store.watch({ ...from, fromRevision: last, until: last }, () => {
          throw new Error('there is no more')
        })
      })

      it('starts in the future when told so', async () => {
        const watch = collect(store, { prefix: '', fromRevision: base + 2 })
        for (const key of ['a', 'b', 'c']) await put(store, key, '1')
        await until(() => watch.events.length === 1)
        expect(watch.events.map(line)).toEqual(['put c=1'])
      })

      it('is silent after its signal aborts', async () => {
        const watch = collect(store, { prefix: '', fromRevision: base })
        await put(store, 'a', '1')
        await until(() => watch.events.length === 1)
        watch.stop()
        await put(store, 'a', '2')
        await watch.done
        expect(watch.events).toHaveLength(1)
        const late = collect(store, { prefix: '', fromRevision: base })
        late.stop()
        await late.done
        expect(late.events).toEqual([])
      })

      it('ends alone when its sink throws', async () => {
        const broken = store.watch(
          { prefix: '', fromRevision: base, signal: new AbortController().signal },
          () => {
            throw new Error('sink')
          },
        )
        const watch = collect(store, { prefix: '', fromRevision: base })
        const failure = expect(broken).rejects.toThrow('sink')
        await put(store, 'a', '1')
        await put(store, 'a', '2')
        await failure
        await until(() => watch.events.length === 2)
      })

      it('shows all watchers the same order when a sink commits', async () => {
        let answered: Promise<unknown> | undefined
        const first = store.watch(
          { prefix: 'ask', fromRevision: base, signal: new AbortController().signal },
          () => {
            answered = store.txn({ key: 'answer', expectedRevision: 0, value: bytes('1') })
          },
        )
        first.catch(() => {
          // Ends when the store closes.
        })
        const second = collect(store, { prefix: '', fromRevision: base })
        await put(store, 'warm', 'up')
        await until(() => second.events.length === 1)
        await put(store, 'ask', '1')
        await answered
        expect(second.events.map(line)).toEqual(['put warm=up', 'put ask=1', 'put answer=1'])
      })
    })

    describe('compact', () => {
      it('keeps the state at its revision and everything after it', async () => {
        await put(store, 'a', '1')
        await put(store, 'b', '1')
        const kept = await put(store, 'a', '2')
        await remove(store, 'b')
        await put(store, 'a', '3')
        await store.compact(kept)
        const at = async (revision: number) =>
          (await store.range({ prefix: '', atRevision: revision })).kvs.map(text)
        expect(await at(kept)).toEqual(['2', '1'])
        expect(await at(kept + 1)).toEqual(['2'])
        expect(await at(kept + 2)).toEqual(['3'])
        const watch = collect(store, { prefix: '', fromRevision: kept })
        await until(() => watch.events.length === 2)
        expect(watch.events.map(line)).toEqual(['delete b was 1', 'put a=3 was 2'])
      })

      it('makes older reads and watches fail with compacted', async () => {
        await put(store, 'a', '1')
        const kept = await put(store, 'a', '2')
        await store.compact(kept)
        await expect(store.range({ prefix: '', atRevision: kept - 1 })).rejects.toMatchObject({
          code: 'compacted',
        })
        const watch = collect(store, { prefix: '', fromRevision: kept - 1 })
        await expect(watch.done).rejects.toMatchObject({ code: 'compacted' })
        expect(watch.events).toEqual([])
      })

      it('leaves live watches and newest values alone', async () => {
        const watch = collect(store, { prefix: '', fromRevision: base })
        await put(store, 'gone', '1')
        await remove(store, 'gone')
        await put(store, 'a', '1')
        await until(() => watch.events.length === 3)
        await store.compact(await store.revision())
        expect(await store.get('gone')).toBeUndefined()
        expect(text(await store.get('a'))).toBe('1')
        await put(store, 'a', '2')
        await put(store, 'gone', '2')
        await until(() => watch.events.length === 5)
        expect(watch.events.slice(3).map(line)).toEqual(['put a=2 was 1', 'put gone=2'])
      })

      it('does nothing for what is already compacted and refuses the future', async () => {
        const kept = await put(store, 'a', '1')
        await store.compact(kept)
        await store.compact(kept)
        await store.compact(kept - 1)
        await expect(store.compact(kept + 1)).rejects.toMatchObject({ code: 'future-revision' })
        expect(text(await store.get('a'))).toBe('1')
      })

      it('disturbs no read of the newest state', async () => {
        for (let i = 0; i < 300; i++) await put(store, `k${i}`, 'old')
        const reading = store.range({ prefix: 'k' })
        await Promise.all(Array.from({ length: 300 }, (_, i) => put(store, `k${i}`, 'new')))
        await store.compact(await store.revision())
        expect((await reading).kvs).toHaveLength(300)
      })
    })

    describe('load', () => {
      it('takes over keys with their revisions, and goes on after the newest', async () => {
        const kvs = [kv('b', 2, 7), kv('\u{1F600}', 3, 3), kv('a', 9, 9), kv('\uFFFD', 1, 4)]
        await store.load(kvs, 12)
        const inOrder = [kv('a', 9, 9), kv('b', 2, 7), kv('\uFFFD', 1, 4), kv('\u{1F600}', 3, 3)]
        const { kvs: loaded, revision, more } = await store.range({ prefix: '' })
        expect(more).toBe(false)
        expect(loaded.map(({ key, value }) => [key, value])).toEqual(
          inOrder.map(({ key, value }) => [key, value]),
        )
        if (loading === 'keeps') expect([loaded, revision]).toEqual([inOrder, 12])
        for (const { createRevision, modRevision } of loading === 'keeps' ? [] : loaded) {
          expect(createRevision).toBe(modRevision)
          expect(modRevision).toBeGreaterThan(12)
          expect(modRevision).toBeLessThanOrEqual(revision)
        }
        expect(new Set(loaded.map(({ modRevision }) => modRevision)).size).toBe(4)
        expect(await put(store, 'b', 'next')).toBe(revision + 1)
        const [, { createRevision } = kv('b', 0, 0)] = loaded
        expect(await store.get('b')).toMatchObject({ createRevision, modRevision: revision + 1 })
      })

      it('begins after any revision, however far that is', async () => {
        const far = 21_760_000_000_000
        await store.load([kv('a', 2, 5)], far)
        const revision = await store.revision()
        expect(revision).toBeGreaterThanOrEqual(far)
        expect(await put(store, 'b', '1')).toBe(revision + 1)
        const [a] = (await store.range({ prefix: 'a' })).kvs
        const expectedRevision = a?.modRevision ?? 0
        const won = await store.txn({ key: 'a', expectedRevision, value: bytes('2') })
        expect(won).toEqual({ ok: true, revision: revision + 2 })
        for (const late of [1, 5, far - 1, far, expectedRevision])
          expect(
            await store.txn({ key: 'a', expectedRevision: late, value: bytes('3') }),
          ).toMatchObject({ ok: false, current: { modRevision: revision + 2 } })
        expect(await store.txn({ key: 'c', expectedRevision: far - 1, value: null })).toEqual({
          ok: false,
        })
        for (const past of [1, 5, far - 1])
          await expect(
            collect(store, { prefix: '', fromRevision: past }).done,
          ).rejects.toMatchObject({ code: 'compacted' })
        const watch = collect(store, { prefix: '', fromRevision: revision })
        await until(() => watch.events.length === 2)
        expect(watch.events.map(revisionOf)).toEqual([revision + 1, revision + 2])
        await store.compact(far - 1)
        await store.compact(revision + 1)
        await expect(store.range({ prefix: '', atRevision: revision })).rejects.toMatchObject({
          code: 'compacted',
        })
      })

      it('has no history before it, and all that comes after', async () => {
        await store.load([kv('a', 2, 5)], 8)
        const newest = await store.revision()
        for (const revision of [0, 5, newest - 1])
          await expect(store.range({ prefix: '', atRevision: revision })).rejects.toMatchObject({
            code: 'compacted',
          })
        await expect(
          collect(store, { prefix: '', fromRevision: newest - 1 }).done,
        ).rejects.toMatchObject({
          code: 'compacted',
        })
        const watch = collect(store, { prefix: '', fromRevision: newest })
        await put(store, 'a', '2')
        await remove(store, 'a')
        await until(() => watch.events.length === 2)
        expect(watch.events.map(line)).toEqual(['put a=2 was a', 'delete a was 2'])
        const [first] = (await store.range({ prefix: '', atRevision: newest })).kvs
        expect(first).toMatchObject(
          loading === 'keeps' ? kv('a', 2, 5) : { key: 'a', value: bytes('a') },
        )
        await store.compact(newest + 2)
        expect((await store.range({ prefix: '' })).kvs).toEqual([])
      })

      it('takes keys as they come, and a revision without any', async () => {
        const coming = async function* () {
          for (let i = 1; i <= 3000; i++) yield kv(`k${i}`, i, i)
        }
        await store.load(coming(), 3000)
        expect((await store.range({ prefix: 'k' })).kvs).toHaveLength(3000)
        const other = await open()
        await other.load([], 40)
        const revision = await other.revision()
        expect(revision).toBeGreaterThanOrEqual(40)
        expect(await put(other, 'a', '1')).toBe(revision + 1)
        await other.close()
      })

      it('refuses a store that holds anything, or was ever written to if it keeps revisions', async () => {
        await put(store, 'a', '1')
        if (loading === 'keeps') await remove(store, 'a')
        await expect(store.load([kv('b', 1, 1)], 5)).rejects.toMatchObject({ code: 'not-empty' })
        const other = await open()
        await other.load([kv('b', 1, 1)], 5)
        await expect(other.load([kv('b', 1, 1)], 5)).rejects.toMatchObject({ code: 'not-empty' })
        expect((await other.range({ prefix: '' })).kvs).toMatchObject([{ key: 'b' }])
        await other.close()
      })

      it.each([
        ['a key twice', [kv('a', 1, 1), kv('a', 2, 2)], 5, /"a" .*twice/],
        ['a revision twice', [kv('a', 1, 3), kv('b', 2, 3)], 5, /"b" .*revision 3 wrote another/],
        ['a later revision', [kv('a', 1, 6)], 5, /created at 1, written at 6 of 5/],
        ['a creation after its write', [kv('a', 3, 2)], 5, /created at 3, written at 2/],
        ['a revision 0', [kv('a', 0, 2)], 5, /created at 0/],
        ['half a revision', [kv('a', 1, 1.5)], 5, /written at 1.5/],
        ['a key without UTF-8 form', [kv('a\ud800', 1, 1)], 5, /UTF-8/],
        ['no revision', [], -1, /-1 is not a revision/],
      ])('refuses %s, and stays empty', async (_, kvs, revision, message) => {
        await expect(store.load([kv('first', 4, 4), ...kvs], revision)).rejects.toThrow(message)
        await expect(store.load([kv('first', 4, 4), ...kvs], revision)).rejects.toThrow(TypeError)
        expect(await store.range({ prefix: '' })).toEqual({ kvs: [], revision: 0, more: false })
        expect(await put(store, 'a', '1')).toBe(1)
      })

      it('stays empty when the keys end in an error', async () => {
        const broken = async function* () {
          yield kv('a', 1, 1)
          throw new Error('the file is cut short')
        }
        await expect(store.load(broken(), 5)).rejects.toThrow('the file is cut short')
        expect(await store.range({ prefix: '' })).toEqual({ kvs: [], revision: 0, more: false })
        await store.load([kv('a', 1, 1)], 5)
        expect(await store.revision()).toBeGreaterThanOrEqual(5)
      })
    })

    describe('close', () => {
      it('finishes what is queued and refuses what comes later', async () => {
        const pending = Promise.all(
          Array.from({ length: 50 }, (_, i) =>
            store.txn({ key: `k${i}`, expectedRevision: 0, value: bytes('1') }),
          ),
        )
        const watch = collect(store, { prefix: '', fromRevision: base })
        await Promise.all([store.close(), store.close()])
        expect((await pending).every((result) => result.ok)).toBe(true)
        await expect(watch.done).rejects.toMatchObject({ code: 'closed' })
        const closed = { code: 'closed' }
        await expect(store.get('k1')).rejects.toMatchObject(closed)
        await expect(store.range({ prefix: '' })).rejects.toMatchObject(closed)
        await expect(store.revision()).rejects.toMatchObject(closed)
        await expect(store.compact(base)).rejects.toMatchObject(closed)
        await expect(
          store.txn({ key: 'x', expectedRevision: 0, value: null }),
        ).rejects.toMatchObject(closed)
        await expect(collect(store, { prefix: '', fromRevision: 0 }).done).rejects.toMatchObject(
          closed,
        )
        await store.close()
      })
    })
  })
}
