/** The APIServices of the groups and versions that the API server serves itself. */
import type { KubeObject } from '../../machinery/object.ts'
import type { Resource } from '../../machinery/resource.ts'
import type { Dialect } from '../dialect.ts'
import { apiGroup, labelKey } from '../dialect.ts'
import { resourcesOf } from '../resources.ts'

/** One for each version of a built-in group that one of the resources is served in, in the order of `/apis`. */
export function localApiServices(dialect: Dialect, served: readonly Resource[]): KubeObject[] {
  const isServed = new Set(served.map(({ group, version }) => `${version}.${group}`))
  return resourcesOf(dialect).groups.flatMap(({ name: group, priority, versions }) =>
    versions
      .filter(({ version }) => isServed.has(`${version}.${group}`))
      .map(({ version, priority: versionPriority }) => ({
        apiVersion: `${apiGroup(dialect, 'apiregistration')}/v1`,
        kind: 'APIService',
        metadata: {
          name: `${version}.${group}`,
          labels: { [labelKey(dialect, 'kube-aggregator', 'automanaged')]: 'onstart' },
        },
        spec: {
          ...(group === '' ? {} : { group }),
          version,
          groupPriorityMinimum: priority,
          versionPriority,
        },
      })),
  )
}
