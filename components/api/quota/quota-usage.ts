/** What the objects of a namespace use of a quota (upstream: apiserver/pkg/quota/v1/resources.go CalculateUsage). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { ResourceQuota } from '../generated/types.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import { formatQuantity, parseQuantity, type Quantity } from '../../machinery/values/quantity.ts'
import type { ResourceList } from '../resource-list.ts'
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
  const totals = new Map<string, Quantity>(names.map((name) => [name, nothing]))
  for (const object of objects) {
    if (!isInScopes(evaluator, selectors, object)) continue
    const usage = evaluator.usage(object, nowMs)
    for (const [name, total] of totals) {
      const amount = getOwn(usage, name)
      if (amount !== undefined) totals.set(name, sum(total, parseQuantity(amount)))
    }
  }
  return Object.fromEntries(Array.from(totals, ([name, total]) => [name, formatQuantity(total)]))
}

const nothing: Quantity = { nanos: 0n, format: 'DecimalSI' }

/** In the format of the first unless that is zero. Texts are made of the last sum alone: there may be thousands of objects. */
function sum(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format }
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
