/** measured-store: counts and times the requests of stores, with the metrics of etcd's clients (upstream: apiserver pkg/storage/etcd3/metrics). */
import type { Clock } from '../component-base/clock.ts'
import type { Counter, Family, Histogram, Metrics } from '../component-base/metrics.ts'
import { forwardingStore } from './forwarding-store.ts'
import type { Store } from './store.ts'

/** Upper bounds in seconds, upstream's. */
const buckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
]

export interface StoreMetrics {
  readonly durations: Family<Histogram>
  readonly requests: Family<Counter>
  readonly errors: Family<Counter>
}

export function storeMetrics(metrics: Metrics): StoreMetrics {
  const labels = ['operation', 'type']
  return {
    durations: metrics.histogram({
      name: 'etcd_request_duration_seconds',
      help: 'Time that requests to the store took, by operation and type, in seconds.',
      labels,
      buckets,
    }),
    requests: metrics.counter({
      name: 'etcd_requests_total',
      help: 'Requests to the store by operation and type.',
      labels,
    }),
    errors: metrics.counter({
      name: 'etcd_request_errors_total',
      help: 'Failed requests to the store by operation and type.',
      labels,
    }),
  }
}

/** The same store. Watches and compactions are not counted. `typeOf` says what kind of object a key belongs to. */
export function measuredStore(
  store: Store,
  {
    metrics: { durations, requests, errors },
    clock,
    typeOf,
  }: { metrics: StoreMetrics; clock: Clock; typeOf: (key: string) => string },
): Store {
  const seriesFor = (operation: string, type: string) => ({
    requests: requests.with(operation, type),
    durations: durations.with(operation, type),
    failed: () => errors.with(operation, type).inc(),
  })
  const series = new Map<string, Map<string, ReturnType<typeof seriesFor>>>()
  const seriesOf = (operation: string, type: string) => {
    let byType = series.get(operation)
    if (byType === undefined) series.set(operation, (byType = new Map()))
    let found = byType.get(type)
    if (found === undefined) byType.set(type, (found = seriesFor(operation, type)))
    return found
  }
  const measured = async <T>(operation: string, key: string, request: Promise<T>): Promise<T> => {
    const { requests, durations, failed } = seriesOf(operation, typeOf(key))
    const startedMs = clock.now()
    requests.inc()
    try {
      return await request
    } catch (error) {
      failed()
      throw error
    } finally {
      durations.observe((clock.now() - startedMs) / 1000)
    }
  }
  return {
    ...forwardingStore(store),
    get: (key) => measured('get', key, store.get(key)),
    range: (options) => measured('list', options.prefix, store.range(options)),
    txn: (txn) => {
      const operation =
        txn.value === null ? 'delete' : txn.expectedRevision === 0 ? 'create' : 'update'
      return measured(operation, txn.key, store.txn(txn))
    },
  }
}
