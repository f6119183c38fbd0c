/** rbac-subject: how a RoleBinding names the user of a request. */
import { apiGroup, type Dialect } from './dialect.ts'
import type { Subject } from './generated/types.ts'

/** The user or service account, or the first group of a user without a name. */
export function subjectOf(
  { name, groups }: { readonly name: string; readonly groups: readonly string[] },
  dialect: Dialect,
): Subject {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name) ?? []
  if (namespace !== undefined && account !== undefined) {
    return { kind: 'ServiceAccount', name: account, namespace }
  }
  const group = apiGroup(dialect, 'rbac.authorization')
  if (name !== '') return { apiGroup: group, kind: 'User', name }
  return { apiGroup: group, kind: 'Group', name: groups[0] ?? '' }
}
