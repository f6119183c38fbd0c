/**
 * Metrics of requests to API servers under upstream's names (upstream: component-base/metrics/prometheus/restclient; what is counted
 * when: client-go/rest, request.go and with_retry.go). There is no rate limiter here, so its metric is missing.
 */
import type { Clock } from '../component-base/clock.ts'
import type { Metrics } from '../component-base/metrics.ts'
import type { RestObserver } from './rest-observer.ts'

/** In seconds. */
const durations = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]
/** From 64 bytes to 16 MiB. */
const sizes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216]

/** Declares the metrics. Streams are counted; only other requests are timed, and only their bodies measured. */
export function createRestObserver(metrics: Metrics, clock: Clock): RestObserver {
  const families = declareFamilies(metrics)
  return {
    begin: ({ method, host, isStream }) => {
      const startedMs = clock.elapsed()
      let isRetry = false
      return {
        sent: (bytes) => {
          if (!isStream) families.requestBytes.with(method, host).observe(bytes)
        },
        answered: (status) => {
          const labels = [status === undefined ? '<error>' : String(status), method, host]
          families.requests.with(...labels).inc()
          if (isRetry) families.retries.with(...labels).inc()
          isRetry = true
        },
        received: (bytes) => {
          if (!isStream) families.responseBytes.with(method, host).observe(bytes)
        },
        ended: () =>
          families.seconds.with(method, host).observe((clock.elapsed() - startedMs) / 1000),
      }
    },
  }
}

function declareFamilies(metrics: Metrics) {
  const labels = ['verb', 'host']
  return {
    requests: metrics.counter({
      name: 'rest_client_requests_total',
      help: 'Number of HTTP requests, partitioned by status code, method, and host.',
      labels: ['code', 'method', 'host'],
    }),
    retries: metrics.counter({
      name: 'rest_client_request_retries_total',
      help: 'Number of request retries, partitioned by status code, verb, and host.',
      labels: ['code', ...labels],
    }),
    seconds: metrics.histogram({
      name: 'rest_client_request_duration_seconds',
      help: 'Request latency in seconds. Broken down by verb, and host.',
      labels,
      buckets: durations,
    }),
    requestBytes: metrics.histogram({
      name: 'rest_client_request_size_bytes',
      help: 'Request size in bytes. Broken down by verb and host.',
      labels,
      buckets: sizes,
    }),
    responseBytes: metrics.histogram({
      name: 'rest_client_response_size_bytes',
      help: 'Response size in bytes. Broken down by verb and host.',
      labels,
      buckets: sizes,
    }),
  }
}
