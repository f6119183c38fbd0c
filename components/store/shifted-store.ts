/** ShiftedStore: a store whose revisions are those of another one, moved by a number. */
import { StoreError, type KeyValue, type Store, type StoreEvent } from './store.ts'

export interface ShiftOptions {
  /** What is added to the revisions of the other store; it may change while the store is filled, and only then. */
  readonly shift: () => number
  /** See Store.load: takes revisions as this store has them. */
  readonly load: Store['load']
}

function shiftedKey(kv: KeyValue, by: number): KeyValue {
  return { ...kv, createRevision: kv.createRevision + by, modRevision: kv.modRevision + by }
}

function shiftedEvent(event: StoreEvent, by: number): StoreEvent {
  if (event.type === 'delete') {
    const previous = shiftedKey(event.previous, by)
    return { ...event, revision: event.revision + by, previous }
  }
  const kv = shiftedKey(event.kv, by)
  if (event.previous === undefined) return { type: 'put', kv }
  return { type: 'put', kv, previous: shiftedKey(event.previous, by) }
}

/** Closing it closes the other one. Revisions from before the other's first are compacted. */
export function shiftedStore(inner: Omit<Store, 'load'>, { shift, load }: ShiftOptions): Store {
  const out = (kv: KeyValue): KeyValue => (shift() === 0 ? kv : shiftedKey(kv, shift()))
  const into = (revision: number): number => {
    if (revision < Math.max(0, shift()))
      throw new StoreError('compacted', `revision ${revision} is from before this store`)
    return revision - shift()
  }
  return {
    isShared: inner.isShared,
    load,
    get: async (key) => {
      const kv = await inner.get(key)
      return kv && out(kv)
    },
    range: async (options) => {
      const { atRevision } = options
      const at = atRevision === undefined ? {} : { atRevision: into(atRevision) }
      const { kvs, revision, more } = await inner.range({ ...options, ...at })
      return { kvs: shift() === 0 ? kvs : kvs.map(out), revision: revision + shift(), more }
    },
    txn: async (txn) => {
      if (shift() === 0) return await inner.txn(txn)
      const { key, expectedRevision: expected } = txn
      if (expected > 0 && expected <= shift()) {
        // From before this store: no key has it.
        const current = await inner.get(key)
        return current === undefined ? { ok: false } : { ok: false, current: out(current) }
      }
      const expectedRevision = expected === 0 ? 0 : expected - shift()
      const result = await inner.txn({ ...txn, expectedRevision })
      if (result.ok) return { ok: true, revision: result.revision + shift() }
      return result.current === undefined ? result : { ok: false, current: out(result.current) }
    },
    revision: async () => (await inner.revision()) + shift(),
    watch: async (options, sink) => {
      const { until } = options
      const fromRevision = into(options.fromRevision)
      const upTo = until === undefined ? {} : { until: into(until) }
      await inner.watch({ ...options, fromRevision, ...upTo }, (events) => {
        const by = shift()
        sink(by === 0 ? events : events.map((event) => shiftedEvent(event, by)))
      })
    },
    compact: async (revision) => {
      if (revision > shift()) await inner.compact(revision - shift())
    },
    check: () => inner.check(),
    sizeBytes: () => inner.sizeBytes(),
    releaseMemory: () => inner.releaseMemory(),
    close: () => inner.close(),
  }
}
