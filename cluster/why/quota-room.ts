/** Quota room: what a quota has nothing left of, and which quotas leave no room for one more pod. Pure. */
import type { PodTemplateSpec, ResourceQuota } from '../../components/api/generated/types.ts'
import { podQuota } from '../../components/api/quota/pod-quota.ts'
import { isInScopes, scopeSelectorsOf } from '../../components/api/quota/quota-evaluator.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { addQuantities, compareQuantities } from '../../components/machinery/values/quantity.ts'
import { seen } from './evidence.ts'
import type { Evidence } from './finding.ts'
import type { Related } from './related.ts'

/** `pods: 2 of 2 used`. */
export function usedText({ status }: ResourceQuota, name: string): string {
  return `${name}: ${status?.used?.[name] ?? '0'} of ${status?.hard?.[name] ?? '0'} used`
}

/** The names of which the quota has nothing left. */
export function usedUp({ status }: ResourceQuota): string[] {
  const { hard = {}, used = {} } = status ?? {}
  return Object.keys(hard).filter(
    (name) => compareQuantities(used[name] ?? '0', hard[name] ?? '0') >= 0,
  )
}

/** What a LimitRange fills in when a container does not say it. */
const defaulted = /^(requests\.|limits\.)?(cpu|memory|ephemeral-storage)$/

/** The names of which a pod that asks for this much finds too little. */
function tooLittle(quota: ResourceQuota, asked: Readonly<Record<string, string>>): string[] {
  const { hard = {}, used = {} } = quota.status ?? {}
  const gone = new Set(usedUp(quota))
  return Object.keys(hard).filter((name) => {
    const more = asked[name]
    if (more === undefined) return defaulted.test(name) && gone.has(name)
    return compareQuantities(addQuantities(used[name] ?? '0', more), hard[name] ?? '0') > 0
  })
}

/** Quotas that leave no room for one more pod of the template: those that count pods, in the scopes that it is in. */
export function quotasWithoutRoom(
  template: PodTemplateSpec | undefined,
  { resourceQuotas, dialect, nowMs }: Related,
): Evidence[] {
  const evaluator = podQuota(dialect)
  const pod: KubeObject = { metadata: {}, spec: template?.spec ?? { containers: [] } }
  const asked = evaluator.usage(pod, nowMs)
  return resourceQuotas.flatMap((quota) => {
    if (!isInScopes(evaluator, scopeSelectorsOf(quota), pod)) return []
    const short = evaluator.matchingResources(tooLittle(quota, asked))
    const texts = short.map((name) => usedText(quota, name))
    return texts.length === 0 ? [] : [seen(quota, texts.join(', '))]
  })
}
