/**
 * LimitRanger: a namespace's LimitRanges set default resources of containers and limit requests (upstream:
 * plugin/pkg/admission/limitranger).
 */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
} from '../../api/generated/types.ts'
import { podAmounts } from '../../api/pod-resources.ts'
import type { ResourceList } from '../../api/resource-list.ts'
import { resourcesOf } from '../../api/resources.ts'
import { getOwn, setOwn } from '../../machinery/values/json-copy.ts'
import {
  canonicalQuantity,
  compareQuantities,
  parseQuantity,
} from '../../machinery/values/quantity.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

/** The requests and limits of an object, and its name in messages. */
interface Asked {
  readonly type: string
  readonly requests: ResourceList
  readonly limits: ResourceList
}

function ratioFault(asked: Asked, name: string, enforced: string): string | undefined {
  const { type, requests, limits } = asked
  const says = `${name} max limit to request ratio per ${type} is ${canonicalQuantity(enforced)}, but`
  const amount = (text: string | undefined) => Number(parseQuantity(text ?? '0').nanos)
  const [request, limit] = [amount(getOwn(requests, name)), amount(getOwn(limits, name))]
  if (request === 0) return `${says} no request is specified or request is 0`
  if (limit === 0) return `${says} no limit is specified or limit is 0`
  const ratio = limit / request
  if (ratio <= amount(enforced) / 1e9) return undefined
  return `${says} provided ratio is ${ratio.toFixed(6)}`
}

function minFault({ type, requests, limits }: Asked, name: string, enforced: string) {
  const says = `minimum ${name} usage per ${type} is ${canonicalQuantity(enforced)}`
  const [request, limit] = [getOwn(requests, name), getOwn(limits, name)]
  if (request === undefined) return `${says}.  No request is specified`
  if (compareQuantities(request, enforced) < 0) {
    return `${says}, but request is ${canonicalQuantity(request)}`
  }
  if (limit === undefined || compareQuantities(limit, enforced) >= 0) return undefined
  return `${says}, but limit is ${canonicalQuantity(limit)}`
}

function maxFault({ type, requests, limits }: Asked, name: string, enforced: string) {
  const says = `maximum ${name} usage per ${type} is ${canonicalQuantity(enforced)}`
  const [request, limit] = [getOwn(requests, name), getOwn(limits, name)]
  if (limit === undefined) return `${says}.  No limit is specified`
  if (compareQuantities(limit, enforced) > 0) {
    return `${says}, but limit is ${canonicalQuantity(limit)}`
  }
  if (request === undefined || compareQuantities(request, enforced) <= 0) return undefined
  return `${says}, but request is ${canonicalQuantity(request)}`
}

/** Claims have requests only. */
function maxRequestFault({ type, requests }: Asked, name: string, enforced: string) {
  const says = `maximum ${name} usage per ${type} is ${canonicalQuantity(enforced)}`
  const request = getOwn(requests, name)
  if (request === undefined) return `${says}.  No request is specified`
  if (compareQuantities(request, enforced) <= 0) return undefined
  return `${says}, but request is ${canonicalQuantity(request)}`
}

type Fault = (asked: Asked, name: string, enforced: string) => string | undefined

function faultsOf(asked: Asked, by: readonly [amounts: ResourceList | undefined, fault: Fault][]) {
  return by.flatMap(([amounts, fault]) =>
    Object.entries(amounts ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, enforced]) => fault(asked, name, enforced))
      .filter((text) => text !== undefined),
  )
}

function podFaults({ spec }: Pod, item: LimitRangeItem): string[] {
  const { type, min, max, maxLimitRequestRatio } = item
  if (spec === undefined || (type !== 'Container' && type !== 'Pod')) return []
  const asked: Asked[] =
    type === 'Pod'
      ? [{ type, requests: podAmounts(spec, 'requests'), limits: podAmounts(spec, 'limits') }]
      : [...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => ({
          type,
          requests: resources?.requests ?? {},
          limits: resources?.limits ?? {},
        }))
  return asked.flatMap((one) =>
    faultsOf(one, [
      [min, minFault],
      [max, maxFault],
      [maxLimitRequestRatio, ratioFault],
    ]),
  )
}

function claimFaults({ spec }: PersistentVolumeClaim, item: LimitRangeItem): string[] {
  const { type, min, max } = item
  if (type !== 'PersistentVolumeClaim') return []
  const { requests = {}, limits = {} } = spec?.resources ?? {}
  return faultsOf({ type, requests, limits }, [
    [min, minFault],
    [max, maxRequestFault],
  ])
}

/** Sets missing resources. Returns their names. */
function fill(target: Record<string, string>, defaults: ResourceList | undefined): string[] {
  const missing = Object.entries(defaults ?? {}).filter(([name]) => !Object.hasOwn(target, name))
  for (const [name, amount] of missing) setOwn(target, name, amount)
  return missing.map(([name]) => name).toSorted()
}

/** Sets the containers' defaults. Returns a text for each. */
function setDefaults(
  containers: readonly Container[],
  what: string,
  item: LimitRangeItem,
): string[] {
  return containers.flatMap((container) => {
    const resources = (container.resources ??= {})
    const { name } = container
    const limits = fill((resources.limits ??= {}), item.default)
    const requests = fill((resources.requests ??= {}), item.defaultRequest)
    if (Object.keys(resources.limits).length === 0) delete resources.limits
    if (Object.keys(resources.requests).length === 0) delete resources.requests
    return [
      ...(requests.length > 0 ? [`${requests.join(', ')} request for ${what} ${name}`] : []),
      ...(limits.length > 0 ? [`${limits.join(', ')} limit for ${what} ${name}`] : []),
    ]
  })
}

export function limitRanger(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const { pods, persistentVolumeClaims, limitRanges } = resourcesOf(dialect)
  // Every Pod needs them, and they rarely change.
  let byNamespace: Map<string, LimitRange[]> | undefined
  reader.onChange(limitRanges, () => (byNamespace = undefined))
  const annotation = labelKey(dialect, '', 'limit-ranger')

  /** The LimitRanges of the request; empty for kinds that they do not limit. */
  function itemsFor(request: AdmissionRequest): readonly (readonly LimitRangeItem[])[] {
    const { operation, resource, subresource, object, namespace } = request
    if (subresource !== '' || object === undefined) return []
    // Updates cannot change the resources of Pods.
    const isPod = resource === pods && operation === 'CREATE'
    const isClaim =
      resource === persistentVolumeClaims && (operation === 'CREATE' || operation === 'UPDATE')
    if (!isPod && !isClaim) return []
    if (operation === 'UPDATE' && object.metadata.deletionTimestamp !== undefined) return []
    byNamespace ??= Map.groupBy(
      reader.list(limitRanges) as readonly LimitRange[],
      ({ metadata }) => metadata.namespace ?? '',
    )
    return (byNamespace.get(namespace) ?? []).map(({ spec }) => spec?.limits ?? [])
  }

  return {
    name: 'LimitRanger',
    mutate(request) {
      if (request.resource !== pods) return
      const pod = request.object as Pod | undefined
      for (const items of itemsFor(request)) {
        const set = items
          .filter(({ type }) => type === 'Container')
          .flatMap((item) => [
            ...setDefaults(pod?.spec?.containers ?? [], 'container', item),
            ...setDefaults(pod?.spec?.initContainers ?? [], 'init container', item),
          ])
        if (set.length === 0 || pod === undefined) continue
        const annotations = (pod.metadata.annotations ??= {})
        annotations[annotation] = `LimitRanger plugin set: ${set.join('; ')}`
      }
    },
    validate(request) {
      const { object, resource } = request
      for (const items of itemsFor(request)) {
        const faults = items.flatMap((item) =>
          resource === pods
            ? podFaults(object as Pod, item)
            : claimFaults(object as PersistentVolumeClaim, item),
        )
        if (faults.length === 0) continue
        const why = faults.length === 1 ? faults.join('') : `[${faults.join(', ')}]`
        throw admissionForbidden(request, why)
      }
    },
  }
}
