/** The API server's metrics, with upstream's names, and the filter that counts requests. */
import type { Clock } from '../component-base/clock.ts'
import { createMetrics, declareProcessMetrics, type Metrics } from '../component-base/metrics.ts'
import type { Filter, RequestContext } from './request.ts'
import { release } from './version.ts'
import type { WatchCache } from './watch-cache/watch-cache.ts'

/** Upper bounds in seconds, upstream's. */
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
]

export interface ServerMetrics {
  readonly metrics: Metrics
  readonly measure: Filter
}

/** `resource`, `namespace` or `cluster`: what a request's verb reached for. */
function scopeOf({ info }: RequestContext): string {
  if (info.name !== '') return 'resource'
  return info.namespace === '' ? 'cluster' : 'namespace'
}

/** Labels may hold nothing a client chose freely, or the number of series is the client's to choose. */
function verbLabel(context: RequestContext): string {
  const { verb, isResourceRequest } = context.info
  if (context.resource === undefined && isResourceRequest) return 'other'
  switch (verb) {
    case 'create':
      return 'POST'
    case 'update':
      return 'PUT'
    case 'get':
    case 'list':
    case 'watch':
    case 'patch':
    case 'delete':
    case 'deletecollection':
    case 'post':
    case 'put':
      return verb.toUpperCase()
    default:
      return 'other'
  }
}

export function createServerMetrics(cache: WatchCache, clock: Clock): ServerMetrics {
  const metrics = createMetrics({ release: `${release.major}.${release.minor}` })
  declareProcessMetrics(metrics)
  const requests = metrics.counter({
    name: 'apiserver_request_total',
    help: 'Requests by verb, group, version, resource, scope, component and answer code.',
    stability: 'STABLE',
    labels: [
      'code',
      'component',
      'dry_run',
      'group',
      'resource',
      'scope',
      'subresource',
      'verb',
      'version',
    ],
  })
  const durations = metrics.histogram({
    name: 'apiserver_request_duration_seconds',
    help: 'Time until a request was answered, in seconds.',
    stability: 'STABLE',
    labels: [
      'component',
      'dry_run',
      'group',
      'resource',
      'scope',
      'subresource',
      'verb',
      'version',
    ],
    buckets: durationBuckets,
  })
  const inFlight = metrics.gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests being served, by kind.',
    stability: 'STABLE',
    labels: ['request_kind'],
  })
  const reading = inFlight.with('readOnly')
  const mutating = inFlight.with('mutating')
  metrics.observed(
    {
      kind: 'gauge',
      name: 'apiserver_storage_objects',
      help: 'Stored objects by resource.',
      stability: 'STABLE',
      labels: ['resource'],
    },
    () =>
      Array.from(cache.sizes(), ({ prefix, objects }) => ({ labels: [prefix], value: objects })),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: 'apiserver_longrunning_requests',
      help: 'Watches being served, by resource.',
      stability: 'STABLE',
      labels: ['resource', 'verb'],
    },
    () =>
      Array.from(cache.sizes(), ({ prefix, watchers }) => ({
        labels: [prefix, 'WATCH'],
        value: watchers,
      })),
  )

  const measure: Filter = async (context, next) => {
    const reads = ['get', 'list', 'watch'].includes(context.info.verb)
    const gauge = reads ? reading : mutating
    gauge.inc()
    try {
      const answer = await next(context)
      const { info, resource } = context
      const known = resource !== undefined
      const labels = [
        'apiserver',
        info.query.get('dryRun') === 'All' ? 'All' : '',
        known ? info.group : '',
        known ? info.plural : '',
        known ? scopeOf(context) : '',
        known ? info.subresource : '',
        verbLabel(context),
        known ? info.version : '',
      ] as const
      requests.with(String(answer.status), ...labels).inc()
      if (info.verb !== 'watch') {
        durations.with(...labels).observe((clock.now() - context.receivedAtMs) / 1000)
      }
      return answer
    } finally {
      gauge.dec()
    }
  }
  return { metrics, measure }
}
