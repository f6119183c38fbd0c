/** Install order: which kinds the objects of other kinds need first (helm pkg/release/v1/util/kind_sorter.go is the model). */
import type { Dialect } from '../components/api/dialect.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { apiVersionOf } from '../components/machinery/objects/resource.ts'
import type { KubernetesObject } from './types.ts'

/** Groups of kinds, by package and kind. Custom kinds and all that no group names come after those of `before`. */
const before: readonly (readonly string[])[] = [
  ['core/Namespace'],
  ['apiextensions/CustomResourceDefinition'],
  ['core/ServiceAccount', 'rbac/ClusterRole', 'rbac/Role'],
  ['rbac/ClusterRoleBinding', 'rbac/RoleBinding'],
  // What admission looks up when others are created.
  [
    'scheduling/PriorityClass',
    'node/RuntimeClass',
    'storage/StorageClass',
    'networking/IngressClass',
  ],
  [
    'core/ResourceQuota',
    'core/LimitRange',
    'networking/NetworkPolicy',
    'policy/PodDisruptionBudget',
  ],
  [
    'core/Secret',
    'core/ConfigMap',
    'core/PersistentVolume',
    'core/PersistentVolumeClaim',
    'core/Service',
  ],
]
/** They judge every later request, or need a server that runs. */
const after = ['admissionregistration', 'apiregistration']

/** The place of an object's kind: objects with a lower rank are applied first. */
export function installRank(dialect: Dialect): (object: KubernetesObject) => number {
  const { all } = resourcesOf(dialect)
  return ({ apiVersion, kind = '' }) => {
    const resource = all.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)
    const [group = ''] = resource?.package.split('/') ?? []
    if (after.includes(group)) return before.length + 1
    const rank = before.findIndex((kinds) => kinds.includes(`${group}/${kind}`))
    return rank < 0 ? before.length : rank
  }
}

/** The rank of CustomResourceDefinitions: once they are applied, their kinds must be served. */
export const definitionRank = before.findIndex((kinds) =>
  kinds.includes('apiextensions/CustomResourceDefinition'),
)
