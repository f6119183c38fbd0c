/** The metrics of the controllers that write EndpointSlices (upstream: endpointslice/metrics, endpointslicemirroring/metrics). */
import { exponentialBuckets } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'

/** Bounds of amounts per sync. */
const amounts = exponentialBuckets(2, 2, 15)

export type SliceMetrics = ReturnType<typeof declareSliceMetrics>
export type MirroringMetrics = ReturnType<typeof declareMirroringMetrics>

/** Those that both controllers have; `owner` is the kind that a sync is about. */
function declareShared(metrics: Metrics, subsystem: string, owner: string) {
  const perSync = (what: string) =>
    metrics.histogram({
      name: `${subsystem}_endpoints_${what}_per_sync`,
      help: `Number of endpoints ${what} on each ${owner} sync`,
      buckets: amounts,
    })
  return {
    added: perSync('added'),
    removed: perSync('removed'),
    endpoints: metrics.gauge({
      name: `${subsystem}_endpoints_desired`,
      help: 'Number of endpoints desired',
    }),
    slices: metrics.gauge({
      name: `${subsystem}_num_endpoint_slices`,
      help: 'Number of EndpointSlices',
    }),
    desiredSlices: metrics.gauge({
      name: `${subsystem}_desired_endpoint_slices`,
      help: 'Number of EndpointSlices that would exist with perfect endpoint allocation',
    }),
    changes: metrics.counter({
      name: `${subsystem}_changes`,
      help: 'Number of EndpointSlice changes',
      labels: ['operation'],
    }),
  }
}

export function declareSliceMetrics(metrics: Metrics) {
  const subsystem = 'endpoint_slice_controller'
  return {
    ...declareShared(metrics, subsystem, 'Service'),
    changedPerSync: metrics.histogram({
      name: `${subsystem}_endpointslices_changed_per_sync`,
      help: 'Number of EndpointSlices changed on each Service sync',
      labels: ['topology', 'traffic_distribution'],
      // What a Prometheus client takes by default, as upstream.
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    }),
    syncs: metrics.counter({
      name: `${subsystem}_syncs`,
      help: 'Number of EndpointSlice syncs',
      labels: ['result'],
    }),
    byTrafficDistribution: metrics.gauge({
      name: `${subsystem}_services_count_by_traffic_distribution`,
      help: 'Number of Services using some specific trafficDistribution',
      labels: ['traffic_distribution'],
    }),
  }
}

export function declareMirroringMetrics(metrics: Metrics) {
  const subsystem = 'endpoint_slice_mirroring_controller'
  return {
    ...declareShared(metrics, subsystem, 'Endpoints'),
    updated: metrics.histogram({
      name: `${subsystem}_endpoints_updated_per_sync`,
      help: 'Number of endpoints updated on each Endpoints sync',
      buckets: amounts,
    }),
    skipped: metrics.histogram({
      name: `${subsystem}_addresses_skipped_per_sync`,
      help: 'Number of addresses skipped on each Endpoints sync due to being invalid or exceeding MaxEndpointsPerSubset',
      buckets: amounts,
    }),
    syncSeconds: metrics.histogram({
      name: `${subsystem}_endpoints_sync_duration`,
      help: 'Duration of syncEndpoints() in seconds',
      buckets: exponentialBuckets(0.001, 2, 15),
    }),
  }
}

/** The endpoints and the slices of one set of ports. */
export interface PortCount {
  readonly endpoints: number
  readonly slices: number
}

/** What the slices of all owners sum up to (upstream: metrics/cache.go). */
export interface SliceTotals {
  /** The owner of that key has these now. */
  set(key: string, ports: readonly PortCount[]): void
  forget(key: string): void
}

export function createSliceTotals(
  metrics: Pick<SliceMetrics, 'endpoints' | 'slices' | 'desiredSlices'>,
  maxPerSlice: number,
): SliceTotals {
  const owners = new Map<string, { endpoints: number; slices: number; desired: number }>()
  const forget = (key: string): void => {
    const known = owners.get(key)
    if (known === undefined) return
    owners.delete(key)
    metrics.endpoints.dec(known.endpoints)
    metrics.slices.dec(known.slices)
    metrics.desiredSlices.dec(known.desired)
  }
  return {
    forget,
    set: (key, ports) => {
      forget(key)
      const sum = (count: (one: PortCount) => number): number =>
        ports.reduce((total, one) => total + count(one), 0)
      const endpoints = sum((one) => one.endpoints)
      const slices = sum((one) => one.slices)
      // An owner without endpoints has one empty slice.
      const desired = Math.max(
        1,
        sum((one) => Math.ceil(one.endpoints / maxPerSlice)),
      )
      owners.set(key, { endpoints, slices, desired })
      metrics.endpoints.inc(endpoints)
      metrics.slices.inc(slices)
      metrics.desiredSlices.inc(desired)
    },
  }
}

/** How many Services have each traffic distribution. */
export interface TrafficCounts {
  /** The Service of that key has this one now; undefined for none, or for a Service that is gone. */
  set(key: string, trafficDistribution: string | undefined): void
}

export function createTrafficCounts({ byTrafficDistribution }: SliceMetrics): TrafficCounts {
  const labels = new Map<string, string>()
  return {
    set: (key, trafficDistribution) => {
      const before = labels.get(key)
      if (before !== undefined) byTrafficDistribution.with(before).dec()
      labels.delete(key)
      if (trafficDistribution === undefined) return
      // Values that upstream does not know are shown as one: anybody may make up more.
      const label =
        trafficDistribution === 'PreferClose' ? trafficDistribution : 'ImplementationSpecific'
      labels.set(key, label)
      byTrafficDistribution.with(label).inc()
    },
  }
}
