/** The metrics of the ranges that nodes get their own from (upstream: pkg/controller/nodeipam/ipam/cidrset/metrics.go). */
import { exponentialBuckets } from '../component-base/metrics.ts'
import type { Metrics } from '../component-base/metrics.ts'

export type CidrSetMetrics = ReturnType<typeof declareCidrSetMetrics>

/** What a set of ranges counts. */
export interface CidrSetCounts {
  allocated(): void
  released(): void
  /** How many occupied ranges were passed over to find a free one. */
  searched(passed: number): void
  used(count: number): void
}

/** Counts for the whole range of that text, which `most` ranges fit into. */
export function cidrSetCounts(metrics: CidrSetMetrics, label: string, most: number): CidrSetCounts {
  metrics.most.with(label).set(most)
  return {
    allocated: () => metrics.allocations.with(label).inc(),
    released: () => metrics.releases.with(label).inc(),
    searched: (passed) => metrics.tries.with(label).observe(passed),
    // A share of 1, whatever the help text says.
    used: (count) => metrics.usage.with(label).set(count / most),
  }
}

export function declareCidrSetMetrics(metrics: Metrics) {
  const labels = ['clusterCIDR']
  return {
    allocations: metrics.counter({
      name: 'node_ipam_controller_cidrset_cidrs_allocations_total',
      help: 'Counter measuring total number of CIDR allocations.',
      labels,
    }),
    releases: metrics.counter({
      name: 'node_ipam_controller_cidrset_cidrs_releases_total',
      help: 'Counter measuring total number of CIDR releases.',
      labels,
    }),
    // The name has upstream's misprint.
    most: metrics.gauge({
      name: 'node_ipam_controller_cirdset_max_cidrs',
      help: 'Maximum number of CIDRs that can be allocated.',
      labels,
    }),
    usage: metrics.gauge({
      name: 'node_ipam_controller_cidrset_usage_cidrs',
      help: 'Gauge measuring percentage of allocated CIDRs.',
      labels,
    }),
    tries: metrics.histogram({
      name: 'node_ipam_controller_cidrset_allocation_tries_per_request',
      help: 'Number of endpoints added on each Service sync',
      labels,
      buckets: exponentialBuckets(1, 5, 5),
    }),
  }
}
