/** The rbac.authorization group. */
import { groupTable, since } from './group-table.ts'

const common = { createOnUpdate: true, lifecycle: since('1.8') }

export const rbac = groupTable({
  stem: 'rbac.authorization',
  package: 'rbac',
  priority: 17_000,
  versions: { v1: 15 },
  kinds: {
    clusterRoleBindings: { kind: 'ClusterRoleBinding', namespaced: false, ...common },
    clusterRoles: { kind: 'ClusterRole', namespaced: false, ...common },
    roleBindings: { kind: 'RoleBinding', ...common },
    roles: { kind: 'Role', ...common },
  },
})
