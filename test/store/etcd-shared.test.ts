/** What servers that share an etcd leave to it: keys that expire, and one compaction for all. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { etcdMetrics } from '../../components/store/etcd/etcd-metrics.ts'
import type { EtcdStoreOptions } from '../../components/store/etcd/etcd-store.ts'
import { protobufFields } from '../../components/component-base/grpc/protobuf-fields.ts'
import { createMetrics } from '../../components/component-base/metrics.ts'
import type { Store } from '../../components/store/store.ts'
import { callEtcd, openTestStore, requireEtcd, startEtcd, type TestEtcd } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { bytes, collect, committed, line, put, until } from './actions.ts'

requireEtcd()('stores that share an etcd', () => {
  let etcd: TestEtcd
  beforeAll(async () => {
    etcd = await startEtcd()
  })
  afterAll(async () => await etcd.kill())

  const open: Store[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((store) => store.close()))
  })
  let prefixes = 0
  async function openOne(more: Partial<EtcdStoreOptions> = {}): Promise<Store> {
    const store = await openTestStore(etcd.url, { prefix: `/shared/${prefixes}`, ...more })
    open.push(store)
    return store
  }

  /** The leases that etcd has. */
  async function leases(): Promise<number[]> {
    const answer = await callEtcd(etcd.url, 'Lease/LeaseLeases')
    return answer.flatMap(({ number, value }) => {
      if (number !== 2 || typeof value === 'number') return []
      return [...protobufFields(value)].map((field) => Number(field.value))
    })
  }

  const short = { expiresAfterMs: 1000 }

  it('delete a key when its time has come, without the store that wrote it, and watches see it', async () => {
    prefixes += 1
    const [writer, other] = [await openOne(), await openOne()]
    const watch = collect(other, { prefix: '', fromRevision: await other.revision() })
    const value = bytes('1')
    await writer.txn({ key: 'event', expectedRevision: 0, value, ...short })
    const kept = committed(await writer.txn({ key: 'kept', expectedRevision: 0, value, ...short }))
    await writer.txn({ key: 'kept', expectedRevision: kept, value: bytes('2') })
    await writer.close()
    await until(() => watch.events.length === 4)
    expect(watch.events.map(line)).toEqual([
      'put event=1',
      'put kept=1',
      'put kept=2 was 1',
      'delete event was 1',
    ])
    expect(await other.get('event')).toBeUndefined()
    expect((await other.get('kept'))?.value).toEqual(bytes('2'))
  })

  it('use one lease for many keys, and another when etcd has lost it', async () => {
    prefixes += 1
    const metrics = createMetrics({ release: '1.32' })
    const store = await openOne({ metrics: etcdMetrics(metrics) })
    const before = (await leases()).length
    const long = { value: bytes('1'), expiresAfterMs: 3_600_000, expectedRevision: 0 }
    const names = Array.from({ length: 50 }, (_, at) => `first/${at}`)
    await Promise.all(names.map((key) => store.txn({ key, ...long })))
    expect(await leases()).toHaveLength(before + 1)
    for (const id of await leases()) await callEtcd(etcd.url, 'Lease/LeaseRevoke', [1, id])
    expect((await store.range({ prefix: 'first/' })).kvs).toEqual([])
    await store.txn({ key: 'second', ...long })
    expect(await leases()).toHaveLength(1)
    expect((await store.get('second'))?.value).toEqual(bytes('1'))
    expect(metrics.text()).toContain('etcd_lease_object_counts_bucket{le="50"} 0')
  })

  it('read keys of any size, in answers that are not too large', async () => {
    prefixes += 1
    const store = await openOne({ mostAnswerBytes: 1_000_000 })
    const sizes = [
      ...Array.from({ length: 100 }, () => 10),
      ...Array.from({ length: 30 }, () => 200_000),
    ]
    const keys = sizes.map((size, at) => ({ key: `${1000 + at}`, value: Buffer.alloc(size, 'x') }))
    for (const kv of keys) await store.txn({ ...kv, expectedRevision: 0 })
    const { kvs, more } = await store.range({ prefix: '' })
    expect(kvs.map(({ key, value }) => [key, value.length])).toEqual(
      keys.map(({ key, value }) => [key, value.length]),
    )
    expect(more).toBe(false)
  })

  it('drop old history by turns, and none with an interval of 0', async () => {
    prefixes += 1
    const keeps = await openOne()
    const first = await put(keeps, 'a', '1')
    const last = await put(keeps, 'a', '2')
    const turns = async (): Promise<number> => {
      const answer = await callEtcd(etcd.url, 'KV/Range', [1, 'compact_rev_key'])
      return answer.filter(({ number }) => number === 2).length
    }
    expect(await keeps.range({ prefix: '', atRevision: first })).toMatchObject({ revision: first })
    expect(await turns()).toBe(0)
    const both = [
      await openOne({ compactionIntervalMs: 200 }),
      await openOne({ compactionIntervalMs: 200 }),
    ]
    await eventually(async () => {
      const read = keeps.range({ prefix: '', atRevision: first })
      await expect(read).rejects.toMatchObject({ code: 'compacted' })
    })
    for (const store of both) {
      expect((await store.range({ prefix: '' })).kvs[0]?.modRevision).toBe(last)
      await put(store, 'b', '1')
    }
    expect(await turns()).toBe(1)
  })
})
