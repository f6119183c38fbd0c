/**
 * reconcile-policy: restores missing parts of default roles and bindings, and keeps additions of users (upstream: component-
 * helpers auth/rbac/reconciliation).
 */
import { autoupdateAnnotation } from '../../api/bootstrap-policy/policy-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { PolicyRule, Subject } from '../../api/generated/types.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { compactRules, uncoveredRules } from '../authz/rule-covers.ts'

type Texts = Record<string, string>

/** Existing values win. Undefined when nothing is missing. */
function withMissing(existing: Texts | undefined, wanted: Texts | undefined): Texts | undefined {
  const missing = Object.keys(wanted ?? {}).some((key) => existing?.[key] === undefined)
  return missing ? { ...wanted, ...existing } : undefined
}

function missingRules(existing: KubeObject, wanted: KubeObject): PolicyRule[] {
  // The aggregation controller owns the rules of an aggregated role.
  if (wanted['aggregationRule'] !== undefined) return []
  const held = (existing['rules'] ?? []) as PolicyRule[]
  return compactRules(uncoveredRules(held, (wanted['rules'] ?? []) as PolicyRule[]))
}

function missingSelectors(existing: KubeObject, wanted: KubeObject): unknown[] {
  const selectorsOf = (role: KubeObject): unknown[] =>
    (role['aggregationRule']?.clusterRoleSelectors ?? []) as unknown[]
  const held = selectorsOf(existing)
  return selectorsOf(wanted).filter((selector) => !held.some((one) => deepEqual(one, selector)))
}

function isSameSubject(a: Subject, b: Subject): boolean {
  return a.kind === b.kind && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '')
}

function missingSubjects(existing: KubeObject, wanted: KubeObject): Subject[] {
  const held = (existing['subjects'] ?? []) as Subject[]
  const all = (wanted['subjects'] ?? []) as Subject[]
  return all.filter((subject) => !held.some((one) => isSameSubject(one, subject)))
}

/**
 * The existing role or binding with the missing parts of the wanted one. Undefined when nothing is missing, the object is
 * annotated `autoupdate: "false"`, or the binding refers to another role.
 */
export function reconcilePolicy(
  existing: KubeObject,
  wanted: KubeObject,
  dialect: Dialect,
): KubeObject | undefined {
  if (existing.metadata.annotations?.[autoupdateAnnotation(dialect)] === 'false') return undefined
  if (!deepEqual(existing['roleRef'], wanted['roleRef'])) return undefined
  const labels = withMissing(existing.metadata.labels, wanted.metadata.labels)
  const annotations = withMissing(existing.metadata.annotations, wanted.metadata.annotations)
  const rules = missingRules(existing, wanted)
  const selectors = missingSelectors(existing, wanted)
  const subjects = missingSubjects(existing, wanted)
  const isWhole = rules.length + selectors.length + subjects.length === 0
  if (isWhole && labels === undefined && annotations === undefined) return undefined
  const updated = structuredClone(existing)
  if (labels !== undefined) updated.metadata.labels = labels
  if (annotations !== undefined) updated.metadata.annotations = annotations
  if (rules.length > 0) updated['rules'] = [...(updated['rules'] ?? []), ...rules]
  if (selectors.length > 0) {
    const held = (updated['aggregationRule']?.clusterRoleSelectors ?? []) as unknown[]
    updated['aggregationRule'] = { clusterRoleSelectors: [...held, ...selectors] }
  }
  if (subjects.length > 0) updated['subjects'] = [...(updated['subjects'] ?? []), ...subjects]
  return updated
}
