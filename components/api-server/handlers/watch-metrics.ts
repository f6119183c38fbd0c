/** watch-metrics: the number and the size of events sent to watches (upstream: apiserver pkg/endpoints/metrics). */
import type { Metrics } from '../../component-base/metrics.ts'
import type { Resource } from '../../machinery/objects/resource.ts'

/** Counts the frames of events that a watch sends. */
export type CountWatchEvents = (resource: Resource, frames: readonly Buffer[]) => void

/** Upper bounds in bytes, as upstream: from 1 KiB, doubling. */
const eventSizeBuckets = Array.from({ length: 8 }, (_, index) => 1024 * 2 ** index)

export function createWatchEventCount(metrics: Metrics): CountWatchEvents {
  const labels = ['group', 'version', 'kind']
  const events = metrics.counter({
    name: 'apiserver_watch_events_total',
    help: 'Events sent to watches, by group, version and kind.',
    labels,
  })
  const sizes = metrics.histogram({
    name: 'apiserver_watch_events_sizes',
    help: 'Size of the events sent to watches, by group, version and kind, in bytes.',
    labels,
    buckets: eventSizeBuckets,
  })
  // Custom resources come and go.
  const known = new WeakMap<
    Resource,
    { count: { inc(by: number): void }; size: { observe(value: number): void } }
  >()
  return (resource, frames) => {
    let series = known.get(resource)
    if (series === undefined) {
      const { group, version, kind } = resource
      series = { count: events.with(group, version, kind), size: sizes.with(group, version, kind) }
      known.set(resource, series)
    }
    series.count.inc(frames.length)
    for (const frame of frames) series.size.observe(frame.length)
  }
}
