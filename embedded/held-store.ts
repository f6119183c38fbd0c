/** HeldStore: the cluster's store as one run of the API server has it. A killed run neither reads nor writes; the store outlives every run. */
import { StoreError } from '../components/store/store.ts'
import type { Store } from '../components/store/store.ts'
import type { ComponentLife } from './component-life.ts'

export function heldStore(store: Store, life: ComponentLife): Store {
  const unlessKilled = async <T>(call: () => Promise<T>): Promise<T> => {
    if (life.isKilled) throw new StoreError('closed', 'the API server was killed')
    return await call()
  }
  return {
    isShared: store.isShared,
    load: (kvs, revision) => unlessKilled(() => store.load(kvs, revision)),
    get: (key) => unlessKilled(() => store.get(key)),
    range: (options) => unlessKilled(() => store.range(options)),
    txn: (txn) => unlessKilled(() => store.txn(txn)),
    revision: () => unlessKilled(() => store.revision()),
    watch: (options, sink) =>
      unlessKilled(() =>
        store.watch(options, (events) => {
          if (!life.isKilled) sink(events)
        }),
      ),
    compact: (revision) => unlessKilled(() => store.compact(revision)),
    check: () => unlessKilled(() => store.check()),
    sizeBytes: () => unlessKilled(() => store.sizeBytes()),
    releaseMemory: () => unlessKilled(() => store.releaseMemory()),
    close: async () => {},
  }
}
