/** The metrics of the root CA publisher (upstream: certificates/rootcacertpublisher/metrics.go). */
import { exponentialBuckets } from '../component-base/metrics.ts'
import type { Metrics } from '../component-base/metrics.ts'

export type RootCaMetrics = ReturnType<typeof declareRootCaMetrics>

export function declareRootCaMetrics(metrics: Metrics) {
  const shared = {
    help: 'Number of namespace syncs happened in root ca cert publisher.',
    labels: ['code'],
  }
  return {
    syncs: metrics.counter({ name: 'root_ca_cert_publisher_sync_total', ...shared }),
    syncSeconds: metrics.histogram({
      name: 'root_ca_cert_publisher_sync_duration_seconds',
      ...shared,
      buckets: exponentialBuckets(0.001, 2, 15),
    }),
  }
}
