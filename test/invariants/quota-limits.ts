/**
 * A ResourceQuota is never exceeded: no object is created that brings the real usage of its namespace above a limit that was in
 * force, and no status counts its way above an unchanged limit. What was there before a limit came is not held against it.
 */
import { dialects, type Dialect } from '../../components/api/dialect.ts'
import type { ResourceQuota } from '../../components/api/generated/types.ts'
import { isInScopes, scopeSelectorsOf } from '../../components/api/quota/quota-evaluator.ts'
import { createQuotaEvaluators } from '../../components/api/quota/quota-evaluators.ts'
import { quotaUsage } from '../../components/api/quota/quota-usage.ts'
import type { ResourceList } from '../../components/api/resource-list.ts'
import { namesAbove, onlyNamed, sameLists, showList } from '../../components/api/resource-list.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { compareQuantities } from '../../components/machinery/values/quantity.ts'
import type { Change } from '../../monitors/change.ts'
import type { Invariant } from './invariant.ts'
import { isOf, nameOf, uidOf } from '../../monitors/change.ts'

/** A create that was admitted before a limit changed is stored within this time. */
const underWayMs = 10_000

interface Limits {
  object: ResourceQuota
  hard: ResourceList
  /** When the limits came into force. */
  sinceMs: number
}

const hardOf = ({ status }: ResourceQuota): ResourceList => status?.hard ?? {}
const usedOf = ({ status }: ResourceQuota): ResourceList => status?.used ?? {}

/** `dialect` tells the names of kinds and classes. */
export function quotaLimits(dialect: Dialect = dialects.kubernetes): Invariant {
  const evaluators = createQuotaEvaluators(dialect)
  const quotas = new Map<string, Limits>()
  const objects = new Map<string, Map<string, KubeObject>>()

  const takeQuota = (change: Change): string[] => {
    const object = change.object as ResourceQuota
    const uid = uidOf(object)
    const known = quotas.get(uid)
    if (change.type === 'DELETED') {
      quotas.delete(uid)
      return []
    }
    const hard = hardOf(object)
    if (known === undefined || !sameLists(known.hard, hard)) {
      quotas.set(uid, { object, hard, sinceMs: change.atMs })
      return []
    }
    const before = usedOf(known.object)
    known.object = object
    if (change.isListed || change.atMs - known.sinceMs < underWayMs) return []
    const over = namesAbove(usedOf(object), hard).filter(
      (name) => compareQuantities(usedOf(object)[name] ?? '0', before[name] ?? '0') > 0,
    )
    if (over.length === 0) return []
    const show = (list: ResourceList): string => showList(onlyNamed(list, over))
    return [
      `${nameOf(change)} counts ${show(usedOf(object))} at revision ${change.revision}, above ${show(hard)}`,
    ]
  }

  const faultsOf = (change: Change, { object: quota, hard }: Limits): string[] => {
    const evaluator = evaluators.of(change.resource)
    if (evaluator === undefined) return []
    const names = evaluator.matchingResources(Object.keys(hard))
    const { namespace, uid } = change.object.metadata
    if (names.length === 0 || namespace !== quota.metadata.namespace) return []
    if (!isInScopes(evaluator, scopeSelectorsOf(quota), change.object)) return []
    const all = [...(objects.get(placeOf(change))?.values() ?? [])]
    const usage = (of: readonly KubeObject[]): ResourceList =>
      quotaUsage(quota, evaluator, { names, objects: of, nowMs: change.atMs })
    const own = usage(all.filter(({ metadata }) => metadata.uid === uid))
    const total = usage(all)
    const over = namesAbove(total, hard).filter(
      (name) => compareQuantities(own[name] ?? '0', '0') > 0,
    )
    if (over.length === 0) return []
    const show = (list: ResourceList): string => showList(onlyNamed(list, over))
    return [
      `${nameOf(change)} was created at revision ${change.revision} beyond ResourceQuota ${namespace}/${quota.metadata.name}: used ${show(total)}, limited ${show(hard)}`,
    ]
  }
  const placeOf = ({ resource, object }: Change): string =>
    `${resource.group}/${resource.plural} ${object.metadata.namespace ?? ''}`

  const takeObject = (change: Change): string[] => {
    const place = placeOf(change)
    const stored = objects.get(place) ?? new Map<string, KubeObject>()
    if (change.type === 'DELETED') stored.delete(uidOf(change.object))
    else stored.set(uidOf(change.object), change.object)
    if (stored.size === 0) objects.delete(place)
    else objects.set(place, stored)
    if (change.type !== 'ADDED' || change.isListed) return []
    return [...quotas.values()]
      .filter(({ sinceMs }) => change.atMs - sinceMs >= underWayMs)
      .flatMap((limits) => faultsOf(change, limits))
  }
  return {
    name: 'a quota is never exceeded',
    take: (change) => [
      ...(change.object.metadata.namespace === undefined ? [] : takeObject(change)),
      ...(isOf(change, 'resourcequotas') ? takeQuota(change) : []),
    ],
  }
}
