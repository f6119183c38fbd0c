/** request-series: the metrics of requests, with upstream's names and labels (upstream: apiserver pkg/endpoints/metrics). */
import { isDeprecated } from '../../api/lifecycle.ts'
import type { Counter, Gauge, Histogram, Metrics } from '../../component-base/metrics.ts'
import { isLongRunning } from '../request/long-running.ts'
import type { RequestContext } from '../request/request.ts'
import { scopeOf, subresourceOf, verbOf } from './request-labels.ts'

/** Upper bounds in seconds, upstream's. */
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
]
const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

const requestLabels = ['component', 'group', 'resource', 'scope', 'subresource', 'verb', 'version']
const component = 'apiserver'

/** The metrics that requests of one kind with one outcome add to. */
export interface Series {
  readonly total: Counter
  /** Undefined for long-running requests. */
  readonly seconds: Histogram | undefined
  readonly sliSeconds: Histogram | undefined
  /** For reads only, as upstream. */
  readonly bytes: Histogram | undefined
  readonly deprecated: Gauge | undefined
  readonly running: Gauge | undefined
  readonly terminations: Counter | undefined
}

function declare(metrics: Metrics) {
  return {
    requests: metrics.counter({
      name: 'apiserver_request_total',
      help: 'Requests by verb, dry run, group, version, resource, scope, component and answer code.',
      stability: 'STABLE',
      labels: ['code', 'component', 'dry_run', ...requestLabels.slice(1)],
    }),
    durations: metrics.histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time until a request was answered, in seconds.',
      stability: 'STABLE',
      labels: ['component', 'dry_run', ...requestLabels.slice(1)],
      buckets: durationBuckets,
    }),
    sliDurations: metrics.histogram({
      name: 'apiserver_request_sli_duration_seconds',
      help: 'Time until a request was answered, without webhooks and queues, in seconds.',
      labels: requestLabels,
      buckets: durationBuckets,
    }),
    sizes: metrics.histogram({
      name: 'apiserver_response_sizes',
      help: 'Size of the answers to reads, in bytes, before compression.',
      stability: 'STABLE',
      labels: requestLabels,
      buckets: sizeBuckets,
    }),
    longRunning: metrics.gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Long-running requests in flight: watches and streams.',
      stability: 'STABLE',
      labels: requestLabels,
    }),
    inFlight: metrics.gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests in flight, by kind, without long-running ones.',
      stability: 'STABLE',
      labels: ['request_kind'],
    }),
    deprecated: metrics.gauge({
      name: 'apiserver_requested_deprecated_apis',
      help: 'Deprecated APIs that were requested, by group, version, resource, subresource and removing release.',
      stability: 'STABLE',
      labels: ['group', 'version', 'resource', 'subresource', 'removed_release'],
    }),
    terminated: metrics.counter({
      name: 'apiserver_request_terminations_total',
      help: 'Requests that the server ended to protect itself.',
      labels: ['code', ...requestLabels],
    }),
  }
}

type Declared = ReturnType<typeof declare>

function seriesFor(declared: Declared, context: RequestContext, status: number): Series {
  const { info, resource } = context
  const code = String(status)
  const dryRun = info.query.get('dryRun') === 'All' ? 'All' : ''
  const verb = verbOf(context)
  const { group = '', plural = '', version = '' } = resource ?? {}
  const scope = resource === undefined ? '' : scopeOf(context)
  const subresource = subresourceOf(context)
  const isLong = isLongRunning(context)
  const isRead = resource !== undefined && (verb === 'GET' || verb === 'LIST')
  const isEnded = status === 429 || status === 504
  const rest = [group, plural, scope, subresource, verb, version] as const
  const { requests, durations, sliDurations, longRunning, sizes, deprecated, terminated } = declared
  return {
    total: requests.with(code, component, dryRun, ...rest),
    seconds: isLong ? undefined : durations.with(component, dryRun, ...rest),
    sliSeconds: isLong ? undefined : sliDurations.with(component, ...rest),
    running: isLong ? longRunning.with(component, ...rest) : undefined,
    bytes: isRead ? sizes.with(component, ...rest) : undefined,
    deprecated:
      resource !== undefined && isDeprecated(resource)
        ? deprecated.with(group, version, plural, subresource, resource.lifecycle.removed ?? '')
        : undefined,
    terminations: isEnded ? terminated.with(code, component, ...rest) : undefined,
  }
}

export interface RequestSeries {
  /** The series of a request that was answered with this status. */
  of(context: RequestContext, status: number): Series
  /** Requests in flight, except long-running ones. */
  readonly reading: Gauge
  readonly mutating: Gauge
}

export function createRequestSeries(metrics: Metrics): RequestSeries {
  const declared = declare(metrics)
  // Two look-ups find a series: building the label texts costs more than counting. Weak, as custom resources come and go.
  const known = new WeakMap<object, Map<string, Series>>()
  const noResource = {}
  return {
    of: (context, status) => {
      const { info, resource } = context
      let ofResource = known.get(resource ?? noResource)
      if (ofResource === undefined) known.set(resource ?? noResource, (ofResource = new Map()))
      const dry = info.query.size > 0 && info.query.get('dryRun') === 'All' ? 'All' : ''
      const scope = resource === undefined ? '' : scopeOf(context)
      const key = `${status} ${verbOf(context)} ${subresourceOf(context)} ${scope} ${dry}`
      let series = ofResource.get(key)
      if (series === undefined) {
        ofResource.set(key, (series = seriesFor(declared, context, status)))
      }
      return series
    },
    reading: declared.inFlight.with('readOnly'),
    mutating: declared.inFlight.with('mutating'),
  }
}
