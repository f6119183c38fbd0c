/** What the objects of a namespace use of a quota (upstream: apiserver/pkg/quota/v1/resources.go CalculateUsage). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { ResourceQuota } from '../generated/types.ts'
import { addLists, onlyNamed, type ResourceList } from '../resource-list.ts'
import { isInScopes, scopeSelectorsOf, type QuotaEvaluator } from './quota-evaluator.ts'

/** Those of the names that the kind uses, added up over the objects that are in the quota's scopes; zero without any. */
export function quotaUsage(
  quota: ResourceQuota,
  evaluator: QuotaEvaluator,
  of: {
    readonly names: readonly string[]
    readonly objects: readonly KubeObject[]
    readonly nowMs: number
  },
): ResourceList {
  const { names, objects, nowMs } = of
  const selectors = scopeSelectorsOf(quota)
  let used: ResourceList = Object.fromEntries(names.map((name) => [name, '0']))
  for (const object of objects) {
    if (!isInScopes(evaluator, selectors, object)) continue
    used = addLists(used, onlyNamed(evaluator.usage(object, nowMs), names))
  }
  return used
}

/** The kind that a name counts, `count/<resource>.<group>`; undefined for names that are no such count. */
export function countedKind(name: string): { group: string; plural: string } | undefined {
  if (!name.startsWith('count/')) return undefined
  const rest = name.slice('count/'.length)
  const dot = rest.indexOf('.')
  return dot < 0
    ? { group: '', plural: rest }
    : { group: rest.slice(dot + 1), plural: rest.slice(0, dot) }
}
