/** etcd-metrics: what the store on etcd counts (upstream: apiserver pkg/storage/etcd3/metrics). */
import type { Gauge, Histogram, Metrics } from '../../component-base/metrics.ts'

export interface EtcdMetrics {
  /** Keys of each lease, when another takes its place. */
  readonly keyCounts: Histogram
  /** Progress notifications. */
  readonly bookmarks: Gauge
}

export function etcdMetrics(metrics: Metrics): EtcdMetrics {
  const keyCounts = metrics.histogram({
    name: 'etcd_lease_object_counts',
    help: 'Objects that a lease of etcd was given to.',
    buckets: [10, 50, 100, 500, 1000, 2500, 5000],
  })
  const bookmarks = metrics.gauge({
    name: 'etcd_bookmark_counts',
    help: 'Progress notifications of etcd. One watch follows all resources: the label is "*".',
    labels: ['resource'],
  })
  return { keyCounts, bookmarks: bookmarks.with('*') }
}
