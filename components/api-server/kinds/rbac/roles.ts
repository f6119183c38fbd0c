/** Role and ClusterRole (upstream: pkg/apis/rbac/validation). */
import type { PolicyRule, Role, ClusterRole } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { validation } from '../rules/strategy-checks.ts'
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
  at: FieldPath,
): void {
  for (const [i, rule] of (rules ?? []).entries()) validateRule(rule, at.index(i), isNamespaced)
}

function validateRole({ rules }: Role, root: FieldPath): void {
  validateRules(rules, true, root.child('rules'))
}

function validateClusterRole({ rules, aggregationRule }: ClusterRole, root: FieldPath): void {
  validateRules(rules, false, root.child('rules'))
  const at = root.child('aggregationRule').child('clusterRoleSelectors')
  if (aggregationRule) {
    const selectors = aggregationRule.clusterRoleSelectors ?? []
    if (selectors.length === 0) {
      at.required('at least one clusterRoleSelector required if aggregationRule is non-nil')
    }
    for (const [i, selector] of selectors.entries()) validateLabelSelector(selector, at.index(i))
  }
}

export const roleStrategy: Strategy = {
  nameForm: 'path',
  ...validation(validateRole),
}

export const clusterRoleStrategy: Strategy = {
  nameForm: 'path',
  ...validation(validateClusterRole),
}
