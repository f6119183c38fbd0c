/** store-size: the metric of what the storage takes on the disk (upstream: apiserver pkg/storage/etcd3/metrics). */
import type { Clock } from '../component-base/clock.ts'
import type { Metrics } from '../component-base/metrics.ts'
import { isRefusal, type Store } from './store.ts'

/** Takes the newest size; undefined: it is not known. */
export function declareStoreSize(metrics: Metrics): (bytes: number | undefined) => void {
  let newest: number | undefined
  metrics.observed(
    {
      kind: 'gauge',
      name: 'apiserver_storage_size_bytes',
      help: 'What the storage takes on the disk, in bytes.',
      stability: 'STABLE',
      labels: ['storage_cluster_id'],
    },
    () => (newest === undefined ? [] : [{ labels: ['etcd-0'], value: newest }]),
  )
  return (bytes) => {
    newest = bytes
  }
}

/** Asks every now and then until `signal` aborts. */
export async function followSize(of: {
  readonly store: Pick<Store, 'sizeBytes'>
  readonly clock: Clock
  readonly metrics: Metrics
  readonly everyMs: number
  readonly signal: AbortSignal
}): Promise<void> {
  const { store, clock, metrics, everyMs, signal } = of
  const show = declareStoreSize(metrics)
  while (!signal.aborted) {
    const bytes = await store.sizeBytes().catch((error: unknown) => {
      if (isRefusal(error)) return undefined
      throw error
    })
    show(bytes)
    await clock.sleep(everyMs, signal).catch(() => {})
  }
}
