/** RBAC: allows a request if a role bound to the user or a group allows it; otherwise it has no opinion. */
import type { PolicyRule } from '../../api/generated/types.ts'
import type { Authorizer, NonResourceRule, ResourceRule } from './authorizer.ts'
import type { RbacIndex } from './rbac-index.ts'
import { requestKey } from './rule-matching.ts'

function resourceRule(rule: PolicyRule): ResourceRule {
  return {
    verbs: rule.verbs,
    apiGroups: rule.apiGroups ?? [],
    resources: rule.resources ?? [],
    ...(rule.resourceNames?.length ? { resourceNames: rule.resourceNames } : {}),
  }
}

/** Escalation checks share the index. */
export function rbacAuthorizer(index: RbacIndex): Authorizer {
  return {
    name: 'RBAC',
    authorize(attributes) {
      const namespace = attributes.isResourceRequest ? attributes.namespace : ''
      return index.decide(attributes.user, namespace, requestKey(attributes))
    },
    explain(attributes) {
      const { user, isResourceRequest } = attributes
      const namespace = isResourceRequest ? attributes.namespace : ''
      const key = requestKey(attributes)
      const decision = index.decide(user, namespace, key)
      if (decision.decision === 'allow') {
        return { decision, detail: { grants: index.allowing(user, namespace, key) } }
      }
      const missing = 'nothing bound to the user or its groups allows it'
      return { decision, detail: { missing } }
    },
    rulesFor(user, namespace) {
      const rules = index.rulesFor(user, namespace)
      const resourceRules = rules.filter(({ resources }) => resources?.length).map(resourceRule)
      const nonResourceRules: NonResourceRule[] = rules.flatMap(({ verbs, nonResourceURLs }) =>
        nonResourceURLs?.length ? [{ verbs, nonResourceURLs }] : [],
      )
      const errors = index.missingRoles(user, namespace)
      return { resourceRules, nonResourceRules, incomplete: false, errors }
    },
  }
}
