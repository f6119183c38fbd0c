/** component-users: the users of the cluster's own components. A denied request of such a user is a fault of the cluster. */
import { namespacedRoles } from '../../api/bootstrap-policy/bindings.ts'
import { controllerRoles } from '../../api/bootstrap-policy/controller-roles.ts'
import { gatedControllerRoles } from '../../api/bootstrap-policy/gated-controller-roles.ts'
import type { Dialect } from '../../api/dialect.ts'

const managers = new Set(['system:kube-controller-manager', 'system:kube-scheduler'])
const accounts = new Set([
  ...Object.keys(controllerRoles),
  ...gatedControllerRoles.map(({ name }) => name),
  ...namespacedRoles.map(({ name }) => name.slice(name.lastIndexOf(':') + 1)),
])

/** Whether the user is a controller, the controller manager, the scheduler or a node agent. */
export function isComponentUser(name: string, dialect: Dialect): boolean {
  if (managers.has(name) || name.startsWith('system:node:')) return true
  const prefix = `system:serviceaccount:${dialect.systemNamespace}:`
  return name.startsWith(prefix) && accounts.has(name.slice(prefix.length))
}
