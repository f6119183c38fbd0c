/** store-size: the metric of what the storage takes on the disk (upstream: apiserver pkg/storage/etcd3/metrics). */
import { upkeepOf } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Metrics } from '../component-base/metrics.ts'
import { isRefusal, type Store } from './store.ts'

/** Takes the newest size of each store, in order; undefined: it is not known. */
export function declareStoreSize(
  metrics: Metrics,
): (sizes: readonly (number | undefined)[]) => void {
  let newest: readonly (number | undefined)[] = []
  metrics.observed(
    {
      kind: 'gauge',
      name: 'apiserver_storage_size_bytes',
      help: 'What the storage takes on the disk, in bytes.',
      stability: 'STABLE',
      labels: ['storage_cluster_id'],
    },
    () =>
      newest.flatMap((value, index) =>
        value === undefined ? [] : [{ labels: [`etcd-${index}`], value }],
      ),
  )
  return (sizes) => {
    newest = sizes
  }
}

async function sizeOf(store: Pick<Store, 'sizeBytes'>): Promise<number | undefined> {
  return await store.sizeBytes().catch((error: unknown) => {
    if (isRefusal(error)) return undefined
    throw error
  })
}

/** Asks every now and then until `signal` aborts. */
export async function followSizes(of: {
  readonly stores: readonly Pick<Store, 'sizeBytes'>[]
  readonly clock: Clock
  readonly metrics: Metrics
  readonly everyMs: number
  readonly signal: AbortSignal
}): Promise<void> {
  const { stores, clock, metrics, everyMs, signal } = of
  const show = declareStoreSize(metrics)
  while (!signal.aborted) {
    show(await Promise.all(stores.map(sizeOf)))
    await upkeepOf(clock)
      .sleep(everyMs, signal)
      .catch(() => {})
  }
}
