/** server-metrics: the metrics of the process, of the cache, of the build and of the feature gates. */
import { declareFeatureGates } from '../../api/feature-gate-metrics.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { createMetrics, declareProcessMetrics } from '../../component-base/metrics.ts'
import { qualifiedName, type Resource } from '../../machinery/objects/resource.ts'
import { metricsRelease, type VersionInfo } from '../discovery/version.ts'
import { splitStoreKey } from '../watch-cache/store-keys.ts'
import type { Caches } from '../watch-cache/caches.ts'

/** The metrics that need no part of the server. */
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
      help: 'Always 1. The labels describe the build.',
      labels: Object.keys(build),
    })
    .with(...Object.values(build))
    .set(1)
  declareFeatureGates(metrics, gates)
  return metrics
}

/** A custom kind is stored under its own names, and its group has a dot. */
function customName(prefix: string): string {
  const [group = '', plural = ''] = prefix.split('/')
  return group.includes('.') ? `${plural}.${group}` : prefix
}

/** Storage prefix -> `deployments.apps`. */
function storedNames(resources: readonly Resource[]): (prefix: string) => string {
  const names = new Map<string, string>()
  for (const resource of resources) {
    if (resource.package === resource.storageVersion.package) {
      names.set(resource.storagePrefix, qualifiedName(resource))
    }
  }
  return (prefix) => names.get(prefix) ?? customName(prefix)
}

/** Store key -> the name of its resource, for metrics; other keys stay as they are. */
export function storedTypes(resources: readonly Resource[]): (key: string) => string {
  const nameOf = storedNames(resources)
  return (key) => {
    const place = splitStoreKey(key)
    return place === undefined ? key : nameOf(place.prefix)
  }
}

/** Counts the stored objects of each resource. */
export function declareCacheMetrics(
  metrics: Metrics,
  cache: Caches,
  resources: readonly Resource[],
): void {
  const nameOf = storedNames(resources)
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
        labels: [nameOf(prefix)],
        value: objects,
      })),
  )
}
