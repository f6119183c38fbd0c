/** What a request would use of its namespace's quotas, and whether that fits (upstream: resourcequota/controller.go CheckRequest). */
import type {
  ResourceQuota,
  ScopedResourceSelectorRequirement,
} from '../../../api/generated/types.ts'
import {
  addLists,
  filterList,
  increaseOver,
  namesAbove,
  onlyNamed,
  showList,
  type ResourceList,
} from '../../../api/resource-list.ts'
import {
  isInScopes,
  scopeSelectorsOf,
  type QuotaEvaluator,
  type ScopeSelectors,
} from '../../../api/quota/quota-evaluator.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { StatusError } from '../../../machinery/objects/status-error.ts'
import { compareQuantities } from '../../../machinery/values/quantity.ts'
import type { AdmissionRequest } from '../admission.ts'
import { admissionForbidden } from '../forbid.ts'

/** A resource that cannot be used without a quota for it. */
export interface LimitedResource {
  readonly apiGroup: string
  readonly resource: string
  /** Parts of the names that are limited. */
  readonly matchContains: readonly string[]
  /** Scopes of objects that are limited. */
  readonly matchScopes: readonly ScopedResourceSelectorRequirement[]
}

/** A create or update of an object that quotas may count. */
export interface QuotaRequest {
  readonly request: AdmissionRequest & { readonly object: KubeObject }
  readonly evaluator: QuotaEvaluator
}

export interface CheckOptions {
  readonly limited: readonly LimitedResource[]
  readonly nowMs: number
}

function hardOf({ status }: ResourceQuota): ResourceList {
  return status?.hard ?? {}
}

function usedOf({ status }: ResourceQuota): ResourceList {
  return status?.used ?? {}
}

function scopesOf(
  { evaluator, request }: QuotaRequest,
  selectors: ScopeSelectors,
): ScopedResourceSelectorRequirement[] {
  return selectors.filter((selector) => evaluator.matchesScope(selector, request.object))
}

/** The quotas that count the object, each with the names that it counts. Throws a 403 if one cannot tell how much is used. */
function pertinent(ask: QuotaRequest, quotas: readonly ResourceQuota[]) {
  const { request, evaluator } = ask
  return quotas.flatMap((quota) => {
    const names = evaluator.matchingResources(Object.keys(hardOf(quota)))
    if (names.length === 0) return []
    if (!isInScopes(evaluator, scopeSelectorsOf(quota), request.object)) return []
    const name = quota.metadata.name ?? ''
    const fault = evaluator.fault?.(names, request.object)
    if (fault !== undefined) throw admissionForbidden(request, `failed quota: ${name}: ${fault}`)
    const used = usedOf(quota)
    if (names.some((one) => !Object.hasOwn(used, one))) {
      const shown = names.toSorted().join(',')
      throw admissionForbidden(request, `status unknown for quota: ${name}, resources: ${shown}`)
    }
    return [{ quota, names }]
  })
}

function withoutZeros(list: ResourceList): ResourceList {
  return filterList(list, (_, amount) => compareQuantities(amount, '0') !== 0)
}

/** What the request adds to the quota's usage: of an update, the increase only, if the quota counted the old state. */
function addedTo(ask: QuotaRequest, quota: ResourceQuota | undefined, by: Usages): ResourceList {
  const { request, evaluator } = ask
  const { old } = request
  if (request.operation !== 'UPDATE' || old === undefined) return withoutZeros(by.usage)
  const wasCounted = quota === undefined || isInScopes(evaluator, scopeSelectorsOf(quota), old)
  return withoutZeros(
    wasCounted ? increaseOver(by.usage, evaluator.usage(old, by.nowMs)) : by.usage,
  )
}

interface Usages {
  readonly usage: ResourceList
  readonly nowMs: number
}

function refuseNegative({ request }: QuotaRequest, usage: ResourceList): void {
  const negative = Object.keys(
    filterList(usage, (_, amount) => compareQuantities(amount, '0') < 0),
  ).toSorted()
  if (negative.length === 0) return
  const why = `quota usage is negative for resource(s): ${negative.join(',')}`
  throw admissionForbidden(request, why)
}

function showScope({ scopeName, operator, values }: ScopedResourceSelectorRequirement): string {
  return `{${scopeName} ${operator} [${(values ?? []).join(' ')}]}`
}

/** Throws when the request uses a limited resource, or is in a limited scope, that no quota covers. */
function refuseUncovered(
  ask: QuotaRequest,
  quotas: readonly ResourceQuota[],
  more: { limited: readonly LimitedResource[]; covered: ReadonlySet<string>; usage: ResourceList },
): void {
  const { request, evaluator } = ask
  const { limited, covered, usage } = more
  const own = limited.filter(
    ({ apiGroup, resource }) => apiGroup === evaluator.group && resource === evaluator.plural,
  )
  const names = Object.keys(withoutZeros(usage)).filter((name) =>
    own.some(({ matchContains }) => matchContains.some((part) => name.includes(part))),
  )
  const uncovered = names.filter((name) => !covered.has(name)).toSorted()
  if (uncovered.length > 0) {
    throw admissionForbidden(request, `insufficient quota to consume: ${uncovered.join(',')}`)
  }
  if (!evaluator.hasScopes) return
  const inQuotas = new Set(
    quotas
      .flatMap((quota) => scopesOf(ask, scopeSelectorsOf(quota)))
      .map(({ scopeName }) => scopeName),
  )
  const open = limited
    .flatMap(({ matchScopes }) => scopesOf(ask, matchScopes))
    .filter(({ scopeName }) => !inQuotas.has(scopeName))
  if (open.length > 0) {
    const shown = open.map(showScope).join(' ')
    throw new StatusError('', `insufficient quota to match these scopes: [${shown}]`, { code: 500 })
  }
}

/** The quota with the request's usage added. Throws a 403 if that is more than it allows. */
function charged(ask: QuotaRequest, quota: ResourceQuota, added: ResourceList): ResourceQuota {
  const hard = hardOf(quota)
  const used = usedOf(quota)
  const requested = onlyNamed(added, Object.keys(hard))
  const newUsed = addLists(used, requested)
  const exceeded = namesAbove(onlyNamed(newUsed, Object.keys(requested)), hard)
  if (exceeded.length > 0) {
    const shown = (list: ResourceList): string => showList(onlyNamed(list, exceeded))
    const why = `exceeded quota: ${quota.metadata.name ?? ''}, requested: ${shown(requested)}, used: ${shown(used)}, limited: ${shown(hard)}`
    throw admissionForbidden(ask.request, why)
  }
  return { ...quota, status: { ...quota.status, used: newUsed } }
}

/**
 * The quotas with what the request would use, in order; the very same quotas if it uses nothing of them. Throws a StatusError
 * if it does not fit.
 */
export function checkQuotas(
  ask: QuotaRequest,
  quotas: readonly ResourceQuota[],
  { limited, nowMs }: CheckOptions,
): readonly ResourceQuota[] {
  const { request, evaluator } = ask
  const counting = pertinent(ask, quotas)
  if (counting.length === 0 && limited.length === 0) return quotas
  const usage = evaluator.usage(request.object, nowMs)
  refuseNegative(ask, usage)
  const usages = { usage, nowMs }
  const added = new Map(
    counting
      .map(({ quota }) => [quota, addedTo(ask, quota, usages)] as const)
      .filter(([, list]) => Object.keys(list).length > 0),
  )
  const isNothing =
    counting.length > 0
      ? added.size === 0
      : Object.keys(addedTo(ask, undefined, usages)).length === 0
  if (isNothing) return quotas
  const covered = new Set(counting.flatMap(({ names }) => names))
  if (limited.length > 0) refuseUncovered(ask, quotas, { limited, covered, usage })
  if (added.size === 0) return quotas
  return quotas.map((quota) => {
    const more = added.get(quota)
    return more === undefined ? quota : charged(ask, quota, more)
  })
}
