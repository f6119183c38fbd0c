/** Metrics of aggregated APIs, with upstream's names (upstream: kube-aggregator pkg/controllers/status/metrics). */
import type { Metrics } from '../../component-base/metrics.ts'
import type { Availability } from './availability.ts'

/** Call for each look at an APIService, with undefined once it is gone. */
export function createAvailabilityMetrics(
  metrics: Metrics,
): (name: string, availability: Availability | undefined) => void {
  const isUnavailable = new Map<string, boolean>()
  metrics.observed(
    {
      kind: 'gauge',
      name: 'aggregator_unavailable_apiservice',
      help: 'Whether an aggregated API is unavailable, by name of its APIService.',
      labels: ['name'],
    },
    () => Array.from(isUnavailable, ([name, is]) => ({ labels: [name], value: is ? 1 : 0 })),
  )
  const becameUnavailable = metrics.counter({
    name: 'aggregator_unavailable_apiservice_total',
    help: 'How often aggregated APIs became unavailable, by name of the APIService and reason.',
    labels: ['name', 'reason'],
  })
  return (name, availability) => {
    if (availability === undefined) {
      isUnavailable.delete(name)
      return
    }
    const is = availability.status !== 'True'
    if (is && isUnavailable.get(name) !== true) {
      becameUnavailable.with(name, availability.reason ?? '').inc()
    }
    isUnavailable.set(name, is)
  }
}
