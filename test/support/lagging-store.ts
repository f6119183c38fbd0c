/** A store as one of several API servers sees it that share it: what others commit shows only when it asks for the newest revision. */
import type { Store, StoreEvent } from '../../components/store/store.ts'

/** `store` stays open when this view of it is closed. */
export function laggingStore(store: Store): Store {
  const held: { sink: (events: readonly StoreEvent[]) => void; events: StoreEvent[] }[] = []
  const show = (): void => {
    for (const one of held) {
      const events = one.events.splice(0)
      if (events.length > 0) one.sink(events)
    }
  }
  const closing = new AbortController()
  return {
    isShared: true,
    load: (kvs, revision) => store.load(kvs, revision),
    get: (key) => store.get(key),
    range: (options) => store.range(options),
    txn: async (txn) => {
      const result = await store.txn(txn)
      show()
      return result
    },
    revision: async () => {
      const revision = await store.revision()
      show()
      return revision
    },
    watch: async ({ signal, ...options }, sink) => {
      const one = { sink, events: [] as StoreEvent[] }
      held.push(one)
      const either = AbortSignal.any([signal, closing.signal])
      await store.watch({ ...options, signal: either }, (events) => one.events.push(...events))
    },
    compact: (revision) => store.compact(revision),
    check: () => store.check(),
    releaseMemory: () => store.releaseMemory(),
    close: async () => closing.abort(),
  }
}
