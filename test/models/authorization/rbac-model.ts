/** RBAC as plain as can be: every binding is looked at for every request, in no order, with nothing kept. */
import type { PolicyRule, RoleRef, Subject } from '../../../components/api/generated/types.ts'
import type {
  AuthorizationAttributes,
  UserInfo,
} from '../../../components/api-server/request/request.ts'

export interface ModelRole {
  readonly kind: 'Role' | 'ClusterRole'
  readonly namespace: string
  readonly name: string
  readonly rules: readonly PolicyRule[]
}

export interface ModelBinding {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding'
  readonly namespace: string
  readonly name: string
  readonly roleRef: RoleRef
  readonly subjects: readonly Subject[]
}

/** What exists, by kind, namespace and name. */
export interface ModelPolicy {
  readonly roles: Map<string, ModelRole>
  readonly bindings: Map<string, ModelBinding>
}

const isIn = (list: readonly string[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes('*') || list.includes(value))

/** Whether one rule allows a request. */
export function ruleAllows(rule: PolicyRule, asked: AuthorizationAttributes): boolean {
  if (!isIn(rule.verbs, asked.verb)) return false
  if (!asked.isResourceRequest) {
    return (rule.nonResourceURLs ?? []).some((url) =>
      url.endsWith('*') ? asked.path.startsWith(url.slice(0, -1)) : asked.path === url,
    )
  }
  const { resource, subresource } = asked
  const isResource = (rule.resources ?? []).some(
    (one) =>
      one === '*' ||
      one === (subresource === '' ? resource : `${resource}/${subresource}`) ||
      (subresource !== '' && one === `*/${subresource}`),
  )
  const names = rule.resourceNames ?? []
  return (
    isResource &&
    isIn(rule.apiGroups, asked.group) &&
    (names.length === 0 || names.includes(asked.name))
  )
}

function isSubject(subject: Subject, user: UserInfo, bindingNamespace: string): boolean {
  if (subject.kind === 'User') return subject.name === user.name
  if (subject.kind === 'Group') return user.groups.includes(subject.name)
  const namespace = subject.namespace ?? bindingNamespace
  return user.name === `system:serviceaccount:${namespace}:${subject.name}`
}

/** All rules that hold for the user in the namespace. */
export function modelRules(policy: ModelPolicy, user: UserInfo, namespace: string): PolicyRule[] {
  const rules: PolicyRule[] = []
  for (const binding of policy.bindings.values()) {
    if (binding.kind === 'RoleBinding' && (namespace === '' || binding.namespace !== namespace)) {
      continue
    }
    if (!binding.subjects.some((one) => isSubject(one, user, binding.namespace))) continue
    for (const role of policy.roles.values()) {
      const { kind, name } = binding.roleRef
      if (role.kind !== kind || role.name !== name) continue
      if (kind === 'Role' && role.namespace !== binding.namespace) continue
      rules.push(...role.rules)
    }
  }
  return rules
}

export function modelAllows(policy: ModelPolicy, asked: AuthorizationAttributes): boolean {
  const namespace = asked.isResourceRequest ? asked.namespace : ''
  return modelRules(policy, asked.user, namespace).some((rule) => ruleAllows(rule, asked))
}
