/** measured-store: counts and times a store's requests, with the metrics of etcd's clients (upstream: apiserver pkg/storage/etcd3/metrics). */
import type { Clock } from '../component-base/clock.ts'
import type { Metrics } from '../component-base/metrics.ts'
import { forwardingStore } from './forwarding-store.ts'
import type { Store } from './store.ts'

/** Upper bounds in seconds, upstream's. */
const buckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
]

/** The same store. Watches and compactions are not counted. `typeOf` says what kind of object a key belongs to. */
export function measuredStore(
  store: Store,
  { metrics, clock, typeOf }: { metrics: Metrics; clock: Clock; typeOf: (key: string) => string },
): Store {
  const durations = metrics.histogram({
    name: 'etcd_request_duration_seconds',
    help: 'Time that requests to the store took, by operation and type, in seconds.',
    labels: ['operation', 'type'],
    buckets,
  })
  const requests = metrics.counter({
    name: 'etcd_requests_total',
    help: 'Requests to the store by operation and type.',
    labels: ['operation', 'type'],
  })
  const errors = metrics.counter({
    name: 'etcd_request_errors_total',
    help: 'Failed requests to the store by operation and type.',
    labels: ['operation', 'type'],
  })
  const measured = async <T>(operation: string, key: string, run: () => Promise<T>): Promise<T> => {
    const type = typeOf(key)
    const startedMs = clock.now()
    requests.with(operation, type).inc()
    try {
      return await run()
    } catch (error) {
      errors.with(operation, type).inc()
      throw error
    } finally {
      durations.with(operation, type).observe((clock.now() - startedMs) / 1000)
    }
  }
  return {
    ...forwardingStore(store),
    get: (key) => measured('get', key, () => store.get(key)),
    range: (options) => measured('list', options.prefix, () => store.range(options)),
    txn: (txn) => {
      const operation =
        txn.value === null ? 'delete' : txn.expectedRevision === 0 ? 'create' : 'update'
      return measured(operation, txn.key, () => store.txn(txn))
    },
  }
}
