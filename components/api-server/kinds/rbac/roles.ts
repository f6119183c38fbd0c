/** Role and ClusterRole (upstream: pkg/apis/rbac/validation). */
import type { PolicyRule, Role, ClusterRole } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'

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
