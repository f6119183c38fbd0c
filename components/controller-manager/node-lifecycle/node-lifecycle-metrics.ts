/** The metrics of the node-lifecycle controller (upstream: pkg/controller/nodelifecycle/metrics.go). */
import { exponentialBuckets } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'

export type NodeLifecycleMetrics = ReturnType<typeof declareNodeLifecycleMetrics>

export function declareNodeLifecycleMetrics(metrics: Metrics) {
  const labels = ['zone']
  return {
    zoneHealth: metrics.gauge({
      name: 'node_collector_zone_health',
      help: 'Gauge measuring percentage of healthy nodes per zone.',
      labels,
    }),
    zoneSize: metrics.gauge({
      name: 'node_collector_zone_size',
      help: 'Gauge measuring number of registered Nodes per zones.',
      labels,
    }),
    unhealthyNodes: metrics.gauge({
      name: 'node_collector_unhealthy_nodes_in_zone',
      help: 'Gauge measuring number of not Ready Nodes per zones.',
      labels,
    }),
    evictions: metrics.counter({
      name: 'node_collector_evictions_total',
      help: 'Number of Node evictions that happened since current instance of NodeController started.',
      stability: 'STABLE',
      labels,
    }),
    nodeSeconds: metrics.histogram({
      name: 'node_collector_update_node_health_duration_seconds',
      help: 'Duration in seconds for NodeController to update the health of a single node.',
      buckets: exponentialBuckets(0.001, 4, 8),
    }),
    allNodesSeconds: metrics.histogram({
      name: 'node_collector_update_all_nodes_health_duration_seconds',
      help: 'Duration in seconds for NodeController to update the health of all nodes.',
      buckets: exponentialBuckets(0.01, 4, 8),
    }),
  }
}

/**
 * Shows the zones' nodes: `ready` has, by zone, whether each of its nodes is ready. Zones that were shown before and have no
 * node any more are empty and healthy.
 */
export function showZones(
  { zoneSize, zoneHealth, unhealthyNodes, evictions }: NodeLifecycleMetrics,
  ready: ReadonlyMap<string, readonly boolean[]>,
  before: Iterable<string>,
): void {
  for (const zone of before) {
    if (ready.has(zone)) continue
    zoneSize.with(zone).set(0)
    zoneHealth.with(zone).set(100)
    unhealthyNodes.with(zone).set(0)
  }
  for (const [zone, all] of ready) {
    const up = all.filter(Boolean).length
    zoneSize.with(zone).set(all.length)
    zoneHealth.with(zone).set((100 * up) / all.length)
    unhealthyNodes.with(zone).set(all.length - up)
    // A zone without evictions is shown with 0.
    evictions.with(zone).inc(0)
  }
}
