/** QuotaEvaluator: what a quota counts of one kind, and which scopes its objects are in (upstream: apiserver/pkg/quota/v1/interfaces.go). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../generated/types.ts'
import type { ResourceList } from '../resource-list.ts'

export type ScopeSelectors = readonly ScopedResourceSelectorRequirement[]

/** Pure; objects are in the stored version. */
export interface QuotaEvaluator {
  readonly group: string
  readonly plural: string
  /** Whether an object's metadata says all that is counted. */
  readonly countsOnly: boolean
  /** Whether an update can change what an object uses. */
  readonly changesOnUpdate: boolean
  /** Those of the names that the kind uses. */
  matchingResources(names: readonly string[]): string[]
  /** Whether the object is in the scope. A kind without scopes is in none. */
  matchesScope(selector: ScopedResourceSelectorRequirement, object: KubeObject): boolean
  /** Whether a scope that `limitedResources` names needs a quota with that scope. */
  readonly hasScopes: boolean
  /** What the object uses, at this time. */
  usage(object: KubeObject, nowMs: number): ResourceList
  /** Why the object cannot be counted against these names; undefined if it can. */
  fault?(names: readonly string[], object: KubeObject): string | undefined
}

/** Scopes in either of the two places. All must match. */
export function scopeSelectorsOf({ spec }: ResourceQuota): ScopeSelectors {
  return [
    ...(spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(spec?.scopeSelector?.matchExpressions ?? []),
  ]
}

/** Whether all scopes match; without scopes every object does. */
export function isInScopes(
  evaluator: QuotaEvaluator,
  selectors: ScopeSelectors,
  object: KubeObject,
): boolean {
  return selectors.every((selector) => evaluator.matchesScope(selector, object))
}

/** `count/deployments.apps`, `count/pods`. */
export function objectCountName({ group, plural }: { group: string; plural: string }): string {
  return group === '' ? `count/${plural}` : `count/${plural}.${group}`
}

/** Those of `names` that are `own`, sorted. */
export function ownNames(names: readonly string[], own: readonly string[]): string[] {
  return names.filter((name) => own.includes(name)).toSorted()
}
