/** The APIServices of the groups and versions that the API server serves itself. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Dialect } from '../dialect.ts'
import { apiGroup, labelKey } from '../dialect.ts'
import { resourcesOf } from '../resources.ts'

/** How the server keeps an APIService it made: made sure of at each start, or at all times. */
export type AutoManaged = 'onstart' | 'true'

/** Order numbers of the groups that custom resource definitions add; lower than those of all others. */
export const customPriorities = { groupPriorityMinimum: 1000, versionPriority: 100 }

/** The label that says how the server keeps an APIService. */
export function autoManagedLabel(dialect: Dialect): string {
  return labelKey(dialect, 'kube-aggregator', 'automanaged')
}

/** An APIService of what this server itself serves. */
export function localApiService(
  dialect: Dialect,
  managed: AutoManaged,
  spec: {
    readonly group: string
    readonly version: string
    readonly groupPriorityMinimum: number
    readonly versionPriority: number
  },
): KubeObject {
  const { group, ...rest } = spec
  return {
    apiVersion: `${apiGroup(dialect, 'apiregistration')}/v1`,
    kind: 'APIService',
    metadata: {
      name: `${spec.version}.${group}`,
      labels: { [autoManagedLabel(dialect)]: managed },
    },
    spec: group === '' ? rest : { group, ...rest },
  }
}

/**
 * One for each version of a built-in group that one of the resources is served in, in the order of `/apis`. The group of the
 * APIServices themselves needs none, as upstream.
 */
export function localApiServices(dialect: Dialect, served: readonly Resource[]): KubeObject[] {
  const isServed = new Set(served.map(({ group, version }) => `${version}.${group}`))
  return resourcesOf(dialect)
    .groups.filter(({ name }) => name !== apiGroup(dialect, 'apiregistration'))
    .flatMap(({ name: group, priority: groupPriorityMinimum, versions }) =>
      versions
        .filter(({ version }) => isServed.has(`${version}.${group}`))
        .map(({ version, priority: versionPriority }) =>
          localApiService(dialect, 'onstart', {
            group,
            version,
            groupPriorityMinimum,
            versionPriority,
          }),
        ),
    )
}
