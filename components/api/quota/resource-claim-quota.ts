/** ResourceClaims and the devices they may get, by device class (upstream: pkg/quota/v1/evaluator/core/resource_claims.go). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { setOwn } from '../../machinery/values/json-copy.ts'
import { addQuantities } from '../../machinery/values/quantity.ts'
import { apiGroup, apiKey, type Dialect } from '../dialect.ts'
import type { ResourceList } from '../resource-list.ts'
import { objectCountName, type QuotaEvaluator } from './quota-evaluator.ts'

/** Most devices that one claim can get: so many count for a request of all. */
const mostDevices = 32

interface DeviceRequest {
  readonly deviceClassName?: string
  readonly allocationMode?: string
  readonly count?: number
}

function requestsOf(object: KubeObject): readonly DeviceRequest[] {
  const spec = object['spec'] as { devices?: { requests?: readonly DeviceRequest[] } } | undefined
  return spec?.devices?.requests ?? []
}

function devicesOf({ allocationMode, count = 0 }: DeviceRequest): number {
  if (allocationMode === 'ExactCount') return count
  return allocationMode === 'All' ? mostDevices : 0
}

export function resourceClaimQuota(dialect: Dialect): QuotaEvaluator {
  const kind = { group: apiGroup(dialect, 'resource'), plural: 'resourceclaims' }
  const countName = objectCountName(kind)
  const suffix = `.${apiKey(dialect, 'deviceclass.resource', 'devices')}`

  function usage(object: KubeObject): ResourceList {
    const used: Record<string, string> = { [countName]: '1' }
    for (const request of requestsOf(object)) {
      const name = `${request.deviceClassName ?? ''}${suffix}`
      setOwn(used, name, addQuantities(used[name] ?? '0', String(devicesOf(request))))
    }
    return used
  }

  return {
    ...kind,
    countsOnly: false,
    changesOnUpdate: true,
    hasScopes: false,
    matchingResources: (names) =>
      names.filter((name) => name === countName || name.endsWith(suffix)),
    matchesScope: () => false,
    usage,
  }
}
