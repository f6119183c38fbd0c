/**
 * QuotaFloor: the least that a quota's `status.used` may say: what is stored, and what is about to be. A count from a cache
 * misses objects whose room is reserved; without the floor that count would free it a second time.
 */
import type { ResourceQuota } from '../../../api/generated/types.ts'
import type { QuotaEvaluators } from '../../../api/quota/quota-evaluators.ts'
import { countedKind, quotaUsage } from '../../../api/quota/quota-usage.ts'
import { filterList, namesAbove, type ResourceList } from '../../../api/resource-list.ts'
import { keyOf, type KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { getOwn } from '../../../machinery/values/json-copy.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { PendingWrites } from './pending-writes.ts'

export interface FloorOptions {
  readonly reader: ObjectReader
  readonly evaluators: QuotaEvaluators
  readonly pending: PendingWrites
  /** All kinds that are served now. */
  readonly served: () => readonly Resource[]
}

/** The kinds that the names count. */
function kindsOf({ evaluators }: FloorOptions, names: readonly string[]) {
  const counted = names.map(countedKind).filter((kind) => kind !== undefined)
  const special = evaluators.special.filter(
    (evaluator) => evaluator.matchingResources(names).length > 0,
  )
  return new Set([
    ...special,
    ...counted.map((kind) => evaluators.of(kind)).filter((found) => found !== undefined),
  ])
}

/** What the names must at least say in a status that replaces that of `stored`. */
function usedBy(
  options: FloorOptions,
  stored: ResourceQuota,
  of: { readonly names: readonly string[]; readonly nowMs: number },
): ResourceList {
  const { reader, pending, served } = options
  const { namespace = '', name = '', resourceVersion = '' } = stored.metadata
  const totals = Array.from(kindsOf(options, of.names), (evaluator) => {
    const { group, plural } = evaluator
    const resource = served().find((one) => one.group === group && one.plural === plural)
    if (resource === undefined) return {}
    const at = { namespace, group, plural, quota: name, version: resourceVersion }
    const objects = new Map<string, KubeObject>()
    for (const object of reader.list(resource, namespace)) objects.set(keyOf(object), object)
    for (const object of pending.reserved(at)) objects.set(keyOf(object), object)
    const names = evaluator.matchingResources(of.names)
    return quotaUsage(stored, evaluator, { names, objects: [...objects.values()], nowMs: of.nowMs })
  })
  return Object.assign({}, ...totals) as ResourceList
}

/** Raises what the draft of a status says to the floor. Nothing is counted for a status that lowers nothing. */
export function raiseToFloor(
  options: FloorOptions,
  { draft, stored }: { readonly draft: ResourceQuota; readonly stored: ResourceQuota },
  nowMs: number,
): void {
  const { status } = draft
  if (status?.used === undefined) return
  const before = stored.status?.used ?? {}
  const lowered = filterList(status.used, (name, amount) => {
    const old = getOwn(before, name)
    return old === undefined || namesAbove({ [name]: old }, { [name]: amount }).length > 0
  })
  const names = Object.keys(lowered)
  if (names.length === 0) return
  const floor = usedBy(options, stored, { names, nowMs })
  const missing = namesAbove(floor, lowered)
  if (missing.length === 0) return
  const raised = filterList(floor, (name) => missing.includes(name))
  draft.status = { ...status, used: { ...status.used, ...raised } }
}
