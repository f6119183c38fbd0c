/** forwarding-store: another store's methods, for a wrapper that changes some of them. */
import type { Store } from './store.ts'

export function forwardingStore(store: Store): Store {
  return {
    isShared: store.isShared,
    load: (kvs, revision) => store.load(kvs, revision),
    get: (key) => store.get(key),
    range: (options) => store.range(options),
    txn: (txn) => store.txn(txn),
    revision: () => store.revision(),
    watch: (options, sink) => store.watch(options, sink),
    compact: (revision) => store.compact(revision),
    check: () => store.check(),
    sizeBytes: () => store.sizeBytes(),
    releaseMemory: () => store.releaseMemory(),
    close: () => store.close(),
  }
}
