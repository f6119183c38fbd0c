/** Roles and their bindings (upstream: pkg/apis/rbac). */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import type {
  ClusterRole,
  PolicyRule,
  Role,
  RoleBinding,
  RoleRef,
  Subject,
} from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList, goStruct } from '../../../machinery/values/go-syntax.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { pathSegment } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { validateSubdomain } from '../rules/field-rules.ts'

function hasAny(list: readonly string[] | undefined | null): boolean {
  return (list?.length ?? 0) > 0
}

function validateRule(rule: PolicyRule, at: FieldPath, isNamespaced: boolean): void {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs: urls } = rule
  if (!hasAny(verbs)) at.child('verbs').required('verbs must contain at least one value')
  if (hasAny(urls)) {
    const urlsAt = at.child('nonResourceURLs')
    if (isNamespaced) {
      urlsAt.invalid(goList(urls), 'namespaced rules cannot apply to non-resource URLs')
    }
    if (hasAny(apiGroups) || hasAny(resources) || hasAny(resourceNames)) {
      urlsAt.invalid(
        goList(urls),
        'rules cannot apply to both regular resources and non-resource URLs',
      )
    }
    return
  }
  if (!hasAny(apiGroups)) {
    at.child('apiGroups').required('resource rules must supply at least one api group')
  }
  if (!hasAny(resources)) {
    at.child('resources').required('resource rules must supply at least one resource')
  }
}

function validateRules(
  rules: readonly PolicyRule[] | undefined,
  isNamespaced: boolean,
): FieldError[] {
  const at = FieldPath.root('rules')
  for (const [i, rule] of (rules ?? []).entries()) validateRule(rule, at.index(i), isNamespaced)
  return at.errors
}

function validateRole(object: KubeObject): FieldError[] {
  return validateRules((object as Role).rules, true)
}

function validateClusterRole(object: KubeObject): FieldError[] {
  const { rules, aggregationRule } = object as ClusterRole
  const at = FieldPath.root('aggregationRule').child('clusterRoleSelectors')
  if (aggregationRule) {
    const selectors = aggregationRule.clusterRoleSelectors ?? []
    if (selectors.length === 0) {
      at.required('at least one clusterRoleSelector required if aggregationRule is non-nil')
    }
    for (const [i, selector] of selectors.entries()) validateLabelSelector(selector, at.index(i))
  }
  return [...validateRules(rules, false), ...at.errors]
}

export const roleStrategy: Strategy = {
  nameForm: 'path',
  validate: validateRole,
  validateUpdate: validateRole,
}

export const clusterRoleStrategy: Strategy = {
  nameForm: 'path',
  validate: validateClusterRole,
  validateUpdate: validateClusterRole,
}

const rbac = (dialect: Dialect) => apiGroup(dialect, 'rbac.authorization')

function defaultBinding(object: KubeObject, { dialect }: StrategyContext): void {
  const { roleRef, subjects } = object as RoleBinding
  if (roleRef) roleRef.apiGroup ||= rbac(dialect)
  for (const subject of subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= rbac(dialect)
  }
}

function validateSubject(
  subject: Subject,
  at: FieldPath,
  { isNamespaced, group }: { isNamespaced: boolean; group: string },
): void {
  const { kind, name = '', apiGroup: given = '', namespace = '' } = subject
  if (name === '') at.child('name').required()
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') validateSubdomain(name, at.child('name'))
      if (given !== '') at.child('apiGroup').unsupported(given, [''])
      if (!isNamespaced && namespace === '') at.child('namespace').required()
      break
    case 'User':
    case 'Group':
      if (name === '') at.child('name').invalid(name, `${kind.toLowerCase()} name cannot be empty`)
      if (given !== group) at.child('apiGroup').unsupported(given, [group])
      break
    default:
      at.child('kind').unsupported(kind, ['ServiceAccount', 'User', 'Group'])
  }
}

const noRole: RoleRef = { apiGroup: '', kind: '', name: '' }

function bindingStrategy(isNamespaced: boolean, roleKinds: readonly string[]): Strategy {
  function validate(object: KubeObject, { dialect }: StrategyContext): FieldError[] {
    const root = FieldPath.root()
    const at = root.child('roleRef')
    const { roleRef = noRole, subjects } = object as RoleBinding
    const group = rbac(dialect)
    if (roleRef.apiGroup !== group) at.child('apiGroup').unsupported(roleRef.apiGroup, [group])
    if (!roleKinds.includes(roleRef.kind)) at.child('kind').unsupported(roleRef.kind, roleKinds)
    if (!roleRef.name) at.child('name').required()
    else at.child('name').invalidEach(roleRef.name, pathSegment(roleRef.name))
    for (const [i, subject] of (subjects ?? []).entries()) {
      validateSubject(subject, root.child('subjects').index(i), { isNamespaced, group })
    }
    return root.errors
  }

  function validateRoleRef(object: KubeObject, old: KubeObject): FieldError[] {
    const at = FieldPath.root('roleRef')
    const { apiGroup: APIGroup, kind: Kind, name: Name } = (object as RoleBinding).roleRef
    const before = (old as RoleBinding).roleRef
    if (APIGroup !== before.apiGroup || Kind !== before.kind || Name !== before.name) {
      at.invalid(goStruct('rbac.RoleRef', { APIGroup, Kind, Name }), 'cannot change roleRef')
    }
    return at.errors
  }

  return {
    nameForm: 'path',
    applyDefaults: defaultBinding,
    validate,
    validateUpdate: (object, old, context) => [
      ...validate(object, context),
      ...validateRoleRef(object, old),
    ],
  }
}

export const roleBindingStrategy = bindingStrategy(true, ['Role', 'ClusterRole'])
export const clusterRoleBindingStrategy = bindingStrategy(false, ['ClusterRole'])
