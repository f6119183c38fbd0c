/** PersistentVolumeClaims and their storage, also by storage class (upstream: pkg/quota/v1/evaluator/core/persistent_volume_claims.go). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
} from '../../machinery/values/quantity.ts'
import { apiGroup, type Dialect } from '../dialect.ts'
import type { PersistentVolumeClaim } from '../generated/types.ts'
import { claimClassName } from '../default-classes.ts'
import type { ResourceList } from '../resource-list.ts'
import { objectCountName, type QuotaEvaluator } from './quota-evaluator.ts'

const kind = { group: '', plural: 'persistentvolumeclaims' } as const
const countName = objectCountName(kind)
const [claims, storage] = ['persistentvolumeclaims', 'requests.storage'] as const
const nanosPerByte = 1_000_000_000n

/** Whole bytes, rounded up. */
function wholeBytes(text: string): string {
  const { nanos, format } = parseQuantity(text)
  const rest = nanos % nanosPerByte
  return rest === 0n ? text : formatQuantity({ nanos: nanos - rest + nanosPerByte, format })
}

/** What is requested, or what an expansion under way has allocated if that is more. */
function storageOf({ spec, status }: PersistentVolumeClaim): string | undefined {
  const requested = getOwn(spec?.resources?.requests, 'storage')
  if (requested === undefined) return undefined
  const allocated = getOwn(status?.allocatedResources, 'storage')
  const isMore = allocated !== undefined && compareQuantities(allocated, requested) > 0
  return wholeBytes(isMore ? allocated : requested)
}

export function volumeClaimQuota(dialect: Dialect): QuotaEvaluator {
  const suffix = `.storageclass.${apiGroup(dialect, 'storage')}/`
  const own = [countName, claims, storage]

  function usage(object: KubeObject): ResourceList {
    const claim = object as PersistentVolumeClaim
    const className = claimClassName(claim, dialect)
    const amount = storageOf(claim)
    const counts = { [claims]: '1', ...(amount === undefined ? {} : { [storage]: amount }) }
    const ofClass = Object.entries(className === '' ? {} : counts).map(
      ([name, value]) => [`${className}${suffix}${name}`, value] as const,
    )
    return { [countName]: '1', ...counts, ...Object.fromEntries(ofClass) }
  }

  return {
    ...kind,
    countsOnly: false,
    changesOnUpdate: true,
    hasScopes: false,
    matchingResources: (names) =>
      names.filter(
        (name) =>
          own.includes(name) ||
          name.endsWith(`${suffix}${claims}`) ||
          name.endsWith(`${suffix}${storage}`),
      ),
    matchesScope: () => false,
    usage,
  }
}
