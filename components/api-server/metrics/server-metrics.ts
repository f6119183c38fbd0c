/** The API server's metrics: those of any process, those of its cache, and what it is built of and set to. */
import { featureGates, type FeatureGates } from '../../api/feature-gates.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { createMetrics, declareProcessMetrics } from '../../component-base/metrics.ts'
import { qualifiedName, type Resource } from '../../machinery/resource.ts'
import { release, type VersionInfo } from '../version.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'

/** The release as metrics count it. */
export const metricsRelease = `${release.major}.${release.minor}`

/** Metrics that need nothing of the server yet. */
export function createServerMetrics(options: {
  readonly showHidden: boolean
  readonly gates: FeatureGates
  readonly version: VersionInfo
}): Metrics {
  const { showHidden, gates, version } = options
  const metrics = createMetrics({ release: metricsRelease, showHidden })
  declareProcessMetrics(metrics)
  const build = {
    build_date: version.buildDate,
    compiler: version.compiler,
    git_commit: version.gitCommit,
    git_tree_state: version.gitTreeState,
    git_version: version.gitVersion,
    go_version: version.goVersion,
    major: version.major,
    minor: version.minor,
    platform: version.platform,
  }
  metrics
    .gauge({
      name: 'kubernetes_build_info',
      help: 'Always 1; its labels say what was built, of what and for which platform.',
      labels: Object.keys(build),
    })
    .with(...Object.values(build))
    .set(1)
  const enabled = metrics.gauge({
    name: 'kubernetes_feature_enabled',
    help: 'Whether a feature gate is on, by name and stage.',
    stability: 'BETA',
    labels: ['name', 'stage'],
  })
  for (const [name, isOn] of Object.entries(gates)) {
    const { stage } = featureGates[name as keyof FeatureGates]
    enabled.with(name, (stage as string) === 'GA' ? '' : stage).set(isOn ? 1 : 0)
  }
  return metrics
}

/** A kind that was defined in the cluster is stored under its own names, and its group has a dot. */
function customName(prefix: string): string {
  const [group = '', plural = ''] = prefix.split('/')
  return group.includes('.') ? `${plural}.${group}` : prefix
}

/** How many objects of each resource are stored. */
export function declareCacheMetrics(
  metrics: Metrics,
  cache: WatchCache,
  resources: readonly Resource[],
): void {
  const names = new Map<string, string>()
  for (const resource of resources) {
    if (resource.package === resource.storageVersion.package) {
      names.set(resource.storagePrefix, qualifiedName(resource))
    }
  }
  metrics.observed(
    {
      kind: 'gauge',
      name: 'apiserver_storage_objects',
      help: 'Stored objects by resource.',
      stability: 'STABLE',
      labels: ['resource'],
    },
    () =>
      Array.from(cache.sizes(), ({ prefix, objects }) => ({
        labels: [names.get(prefix) ?? customName(prefix)],
        value: objects,
      })),
  )
}

/** Counts what watches are sent. */
export type CountWatchEvents = (resource: Resource, frames: readonly Buffer[]) => void

/** Upper bounds in bytes, upstream's: from 1 KiB, twice as long each. */
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
