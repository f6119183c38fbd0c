/** Which requests webhooks and admission policies are for: rules, selectors, match conditions. */
import type {
  ValidatingAdmissionPolicy,
  MatchCondition,
  MatchResources,
  NamedRuleWithOperations,
  RuleWithOperations,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { pathSegment, qualifiedName } from '../../../machinery/validation/names.ts'
import { validateOneOf, validateRequiredOneOf } from '../rules/field-rules.ts'

export const failurePolicies = ['Fail', 'Ignore']
export const matchPolicies = ['Equivalent', 'Exact']
const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const scopes = ['*', 'Cluster', 'Namespaced']
const maxConditions = 64

/** Rules are for both scopes unless they say otherwise. */
export function defaultRules(rules: readonly RuleWithOperations[] | undefined | null): void {
  for (const rule of rules ?? []) rule.scope ??= '*'
}

/** A list that is not empty, where `*` stands alone. */
function validateWildcardList(
  list: readonly string[],
  at: FieldPath,
  { what, type = 'string' }: { what: string; type?: string },
): void {
  if (list.length === 0) at.required()
  if (list.length > 1 && list.includes('*')) {
    at.invalid(goList(list, type), `if '*' is present, must not specify other ${what}`)
  }
}

function validateResources(resources: readonly string[], at: FieldPath): void {
  if (resources.length === 0) at.required()
  const wildcardsOf = { parents: new Set<string>(), parts: new Set<string>() }
  for (const [i, resource] of resources.entries()) {
    if (resource === '') at.index(i).required()
    const slash = resource.indexOf('/')
    if (slash < 0) continue
    const [parent, part] = [resource.slice(0, slash), resource.slice(slash + 1)]
    if (wildcardsOf.parents.has(parent)) {
      at.index(i).invalid(resource, `if '${parent}/*' is present, must not specify ${resource}`)
    }
    if (wildcardsOf.parts.has(part)) {
      at.index(i).invalid(resource, `if '*/${part}' is present, must not specify ${resource}`)
    }
    if (part === '*') wildcardsOf.parents.add(parent)
    if (parent === '*') wildcardsOf.parts.add(part)
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    at.invalid(goList(resources), "if '*/*' is present, must not specify other resources")
  }
  const lastPlain = resources.findLast((resource) => resource !== '' && !resource.includes('/'))
  if (resources.includes('*') && lastPlain !== '*') {
    const why = "if '*' is present, must not specify other resources without subresources"
    at.invalid(goList(resources), why)
  }
}

export function validateRule(rule: RuleWithOperations, at: FieldPath): void {
  const asked = rule.operations ?? []
  const operationsAt = at.child('operations')
  const type = 'admissionregistration.OperationType'
  validateWildcardList(asked, operationsAt, { what: 'operations', type })
  for (const [i, operation] of asked.entries()) {
    validateOneOf(operation, operations, operationsAt.index(i))
  }
  validateWildcardList(rule.apiGroups ?? [], at.child('apiGroups'), { what: 'API groups' })
  const versions = rule.apiVersions ?? []
  validateWildcardList(versions, at.child('apiVersions'), { what: 'API versions' })
  for (const [i, version] of versions.entries()) {
    if (version === '') at.child('apiVersions').index(i).required()
  }
  validateResources(rule.resources ?? [], at.child('resources'))
  validateOneOf(rule.scope, scopes, at.child('scope'))
}

/** The expressions themselves are taken as they are. */
export function validateMatchConditions(
  conditions: readonly MatchCondition[],
  at: FieldPath,
): void {
  if (conditions.length > maxConditions) at.tooMany(conditions.length, maxConditions)
  const seen = new Set<string>()
  for (const [i, { name, expression }] of conditions.entries()) {
    if (!expression?.trim()) at.index(i).child('expression').required()
    const nameAt = at.index(i).child('name')
    if (!name) nameAt.required()
    else {
      nameAt.invalidEach(name, qualifiedName(name))
      if (seen.has(name)) nameAt.duplicate(name)
      seen.add(name)
    }
  }
}

export function defaultMatchResources(match: MatchResources | undefined | null): void {
  if (!match) return
  match.matchPolicy ??= 'Equivalent'
  match.namespaceSelector ??= {}
  match.objectSelector ??= {}
  defaultRules(match.resourceRules)
  defaultRules(match.excludeResourceRules)
}

export function defaultPolicy(object: KubeObject): void {
  const { spec } = object as ValidatingAdmissionPolicy
  if (!spec) return
  spec.failurePolicy ??= 'Fail'
  defaultMatchResources(spec.matchConstraints)
}

function validateNamedRule(rule: NamedRuleWithOperations, at: FieldPath): void {
  const names = rule.resourceNames ?? []
  for (const [i, name] of names.entries()) {
    const nameAt = at.child('resourceNames').index(i)
    nameAt.invalidEach(name, pathSegment(name))
    if (names.indexOf(name) < i) nameAt.duplicate(name)
  }
  validateRule(rule, at)
}

export function validateMatchResources(match: MatchResources, at: FieldPath): void {
  validateRequiredOneOf(match.matchPolicy, matchPolicies, at.child('matchPolicy'))
  for (const field of ['namespaceSelector', 'objectSelector'] as const) {
    if (match[field]) validateLabelSelector(match[field], at.child(field))
    else at.child(field).required()
  }
  for (const field of ['resourceRules', 'excludeResourceRules'] as const) {
    for (const [i, rule] of (match[field] ?? []).entries()) {
      validateNamedRule(rule, at.child(field).index(i))
    }
  }
}
