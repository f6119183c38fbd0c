/** A store as one of several API servers sees it that share it: what others commit shows only when it asks for the newest revision. */
import { forwardingStore } from '../../components/store/forwarding-store.ts'
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
    ...forwardingStore(store),
    isShared: true,
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
    close: async () => closing.abort(),
  }
}
