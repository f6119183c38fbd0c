/** Reconciling default roles and bindings: what is missing is put back, what was added stays (upstream: component-helpers auth/rbac/reconciliation). */
import { autoupdateAnnotation } from '../../api/bootstrap-policy/policy-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { PolicyRule, Subject } from '../../api/generated/types.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { compactRules, uncoveredRules } from '../authz/rule-covers.ts'

type Texts = Record<string, string>

/** What exists wins; undefined when nothing is missing. */
function withMissing(existing: Texts | undefined, wanted: Texts | undefined): Texts | undefined {
  const missing = Object.keys(wanted ?? {}).some((key) => existing?.[key] === undefined)
  return missing ? { ...wanted, ...existing } : undefined
}

function missingRules(existing: KubeObject, wanted: KubeObject): PolicyRule[] {
  // Rules of an aggregated role are the aggregation controller's.
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
 * The existing role or binding with what the wanted one has besides, or undefined when nothing is missing or the object
 * is annotated `autoupdate: "false"`. A binding to another role than the wanted one is left as it is.
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
