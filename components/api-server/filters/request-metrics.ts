/** Metrics of requests, with upstream's names and labels, and the filter that counts them (upstream: apiserver pkg/endpoints/metrics). */
import { isDeprecated } from '../../api/lifecycle.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Counter, Gauge, Histogram, Metrics } from '../../component-base/metrics.ts'
import { isLongRunning } from '../request/long-running.ts'
import type { Answer, Filter, RequestContext, ResponseSink } from '../request/request.ts'

/** Upper bounds in seconds, upstream's. */
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
]
const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

const requestLabels = ['component', 'group', 'resource', 'scope', 'subresource', 'verb', 'version']
const component = 'apiserver'

const healthPaths = new Set(['/healthz', '/livez', '/readyz'])
const connecting = new Set(['proxy', 'exec', 'attach', 'portforward'])
const applyType = 'application/apply-patch'

/** What a request reached for. */
function scopeOf({ info }: RequestContext): string {
  if (info.name !== '' || info.verb === 'create') return 'resource'
  return info.namespace === '' ? 'cluster' : 'namespace'
}

/** Labels may hold nothing a client chose freely, or the number of series is the client's to choose. */
function verbOf(context: RequestContext): string {
  const { verb, isResourceRequest, subresource } = context.info
  if (context.resource === undefined && isResourceRequest) return 'other'
  if (connecting.has(subresource)) return 'CONNECT'
  switch (verb) {
    case 'create':
      return 'POST'
    case 'update':
      return 'PUT'
    case 'patch':
      return String(context.http.headers['content-type']).startsWith(applyType) ? 'APPLY' : 'PATCH'
    case 'get':
    case 'list':
    case 'watch':
    case 'delete':
    case 'deletecollection':
    case 'post':
    case 'put':
      return verb.toUpperCase()
    default:
      return 'other'
  }
}

function subresourceOf({ info, resource }: RequestContext): string {
  if (resource !== undefined) {
    return resource.subresources.some(({ name }) => name === info.subresource)
      ? info.subresource
      : ''
  }
  return healthPaths.has(info.path) ? info.path : ''
}

/** A sink that counts the bytes it passes on. */
function counting(sink: ResponseSink, count: (bytes: number) => void): ResponseSink {
  return {
    write: (chunk, onSent) => {
      count(chunk.length)
      return sink.write(chunk, onSent)
    },
    drained: () => sink.drained(),
    get buffered() {
      return sink.buffered
    },
    signal: sink.signal,
  }
}

/** The metrics that one kind of request with one outcome adds to. */
interface Series {
  readonly total: Counter
  /** Undefined for what runs as long as its client wants. */
  readonly seconds: Histogram | undefined
  readonly sliSeconds: Histogram | undefined
  /** Of reads only, as upstream. */
  readonly bytes: Histogram | undefined
  readonly deprecated: Gauge | undefined
  readonly running: Gauge | undefined
  readonly terminations: Counter | undefined
}

/** Measures what passes: counts, times, sizes, and what is under way. */
export function createRequestMetrics(metrics: Metrics, clock: Clock): Filter {
  const requests = metrics.counter({
    name: 'apiserver_request_total',
    help: 'Requests by verb, dry run, group, version, resource, scope, component and answer code.',
    stability: 'STABLE',
    labels: ['code', 'component', 'dry_run', ...requestLabels.slice(1)],
  })
  const durations = metrics.histogram({
    name: 'apiserver_request_duration_seconds',
    help: 'Time until a request was answered, in seconds.',
    stability: 'STABLE',
    labels: ['component', 'dry_run', ...requestLabels.slice(1)],
    buckets: durationBuckets,
  })
  const sliDurations = metrics.histogram({
    name: 'apiserver_request_sli_duration_seconds',
    help: 'Time until a request was answered, without that spent in webhooks and queues, in seconds.',
    labels: requestLabels,
    buckets: durationBuckets,
  })
  const sizes = metrics.histogram({
    name: 'apiserver_response_sizes',
    help: 'Size of the answers to reads, in bytes, before compression.',
    stability: 'STABLE',
    labels: requestLabels,
    buckets: sizeBuckets,
  })
  const longRunning = metrics.gauge({
    name: 'apiserver_longrunning_requests',
    help: 'Watches and streams being served.',
    stability: 'STABLE',
    labels: requestLabels,
  })
  const inFlight = metrics.gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests being served, by kind, without those that run long.',
    stability: 'STABLE',
    labels: ['request_kind'],
  })
  const deprecated = metrics.gauge({
    name: 'apiserver_requested_deprecated_apis',
    help: 'Deprecated APIs that were requested, by group, version, resource, subresource and removing release.',
    stability: 'STABLE',
    labels: ['group', 'version', 'resource', 'subresource', 'removed_release'],
  })
  const terminated = metrics.counter({
    name: 'apiserver_request_terminations_total',
    help: 'Requests that the server ended to protect itself.',
    labels: ['code', ...requestLabels],
  })
  const reading = inFlight.with('readOnly')
  const mutating = inFlight.with('mutating')

  const makeSeries = (context: RequestContext, status: number): Series => {
    const { info, resource } = context
    const code = String(status)
    const dryRun = info.query.get('dryRun') === 'All' ? 'All' : ''
    const verb = verbOf(context)
    const { group = '', plural = '', version = '' } = resource ?? {}
    const scope = resource === undefined ? '' : scopeOf(context)
    const subresource = subresourceOf(context)
    const isLong = isLongRunning(context)
    const rest = [group, plural, scope, subresource, verb, version] as const
    return {
      total: requests.with(code, component, dryRun, ...rest),
      seconds: isLong ? undefined : durations.with(component, dryRun, ...rest),
      sliSeconds: isLong ? undefined : sliDurations.with(component, ...rest),
      running: isLong ? longRunning.with(component, ...rest) : undefined,
      bytes:
        resource !== undefined && (verb === 'GET' || verb === 'LIST')
          ? sizes.with(component, ...rest)
          : undefined,
      deprecated:
        resource !== undefined && isDeprecated(resource)
          ? deprecated.with(group, version, plural, subresource, resource.lifecycle.removed ?? '')
          : undefined,
      terminations:
        status === 429 || status === 504 ? terminated.with(code, component, ...rest) : undefined,
    }
  }
  // Found by two look-ups: making the label texts costs more than counting. Custom resources come and go.
  const known = new WeakMap<object, Map<string, Series>>()
  const noResource = {}
  const seriesOf = (context: RequestContext, status: number): Series => {
    const { info, resource } = context
    let ofResource = known.get(resource ?? noResource)
    if (ofResource === undefined) known.set(resource ?? noResource, (ofResource = new Map()))
    const dry = info.query.size > 0 && info.query.get('dryRun') === 'All' ? 'All' : ''
    const scope = resource === undefined ? '' : scopeOf(context)
    const key = `${status} ${verbOf(context)} ${subresourceOf(context)} ${scope} ${dry}`
    let series = ofResource.get(key)
    if (series === undefined) ofResource.set(key, (series = makeSeries(context, status)))
    return series
  }

  /** Counts a long-running request until its body has ended or its client is gone. */
  const whileRunning = (
    context: RequestContext,
    answer: Answer,
    gauge: Gauge | undefined,
  ): Answer => {
    const { body } = answer
    const { signal } = context.http
    if (gauge === undefined || Buffer.isBuffer(body) || signal.aborted) return answer
    gauge.inc()
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      signal.removeEventListener('abort', end)
      gauge.dec()
    }
    signal.addEventListener('abort', end, { once: true })
    return { ...answer, body: (sink) => body(sink).finally(end) }
  }

  const sized = (answer: Answer, histogram: Histogram): Answer => {
    const { body } = answer
    if (Buffer.isBuffer(body)) {
      histogram.observe(body.length)
      return answer
    }
    return {
      ...answer,
      body: async (sink) => {
        let bytes = 0
        await body(counting(sink, (more) => void (bytes += more)))
        histogram.observe(bytes)
      },
    }
  }

  const finish = (context: RequestContext, answer: Answer): Series => {
    const series = seriesOf(context, answer.status)
    series.total.inc()
    series.deprecated?.set(1)
    series.terminations?.inc()
    return series
  }

  return async (context, next) => {
    if (isLongRunning(context)) {
      const answer = await next(context)
      return whileRunning(context, answer, finish(context, answer).running)
    }
    const { verb } = context.info
    const gauge = verb === 'get' || verb === 'list' ? reading : mutating
    gauge.inc()
    try {
      const answer = await next(context)
      const series = finish(context, answer)
      const seconds = (clock.now() - context.receivedAtMs) / 1000
      series.seconds?.observe(seconds)
      series.sliSeconds?.observe(seconds)
      return series.bytes === undefined ? answer : sized(answer, series.bytes)
    } finally {
      gauge.dec()
    }
  }
}
