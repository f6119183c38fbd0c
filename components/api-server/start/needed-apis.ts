/** needed-apis: gates whose features need an API that `--runtime-config` has to turn on. */
import type { FeatureGateName, FeatureGates } from '../../api/feature-gates.ts'
import type { Resources } from '../../api/resources.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'

const needs = [
  { gate: 'MultiCIDRServiceAllocator', kind: 'serviceCidrs' },
  { gate: 'ClusterTrustBundle', kind: 'clusterTrustBundles' },
  { gate: 'StorageVersionAPI', kind: 'storageVersions' },
  { gate: 'StorageVersionMigrator', kind: 'storageVersionMigrations' },
  { gate: 'VolumeAttributesClass', kind: 'volumeAttributesClasses' },
] as const satisfies readonly {
  readonly gate: FeatureGateName
  readonly kind: Exclude<keyof Resources, 'all' | 'groups'>
}[]

/**
 * Why the server cannot start: a gate is on and its API is off. Upstream starts without the API and never becomes ready.
 * Undefined when nothing is missing.
 */
export function missingApi(
  gates: FeatureGates,
  resources: Resources,
  served: readonly Resource[],
): string | undefined {
  for (const { gate, kind } of needs) {
    const resource = resources[kind]
    if (!gates[gate] || served.includes(resource)) continue
    const version = apiVersionOf(resource)
    return `the feature gate ${gate} needs the API ${version}: add --runtime-config=${version}=true`
  }
  return undefined
}
