/** A Pod's quality of service class, from its containers' requests and limits (upstream: helper/qos). */
import { compareQuantities } from '../machinery/values/quantity.ts'
import type { Pod } from './generated/types.ts'

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

const counted = ['cpu', 'memory'] as const

export function qosClassOf(pod: Pod): QosClass {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]
  let hasAny = false
  let isGuaranteed = true
  for (const { resources } of containers) {
    for (const name of counted) {
      const request = positive(resources?.requests?.[name])
      const limit = positive(resources?.limits?.[name])
      if (request !== undefined || limit !== undefined) hasAny = true
      if (limit === undefined) isGuaranteed = false
      else if (request !== undefined && compareQuantities(request, limit) !== 0)
        isGuaranteed = false
      else if (request === undefined) isGuaranteed = false
    }
  }
  if (!hasAny) return 'BestEffort'
  return isGuaranteed ? 'Guaranteed' : 'Burstable'
}

function positive(amount: string | undefined): string | undefined {
  return amount === undefined || compareQuantities(amount, '0') === 0 ? undefined : amount
}
