/** A Pod's quality of service class, from its containers' requests and limits (upstream: helper/qos). */
import type { Pod } from '../../../../api/generated/types.ts'
import { compareAmounts, isZeroQuantity } from '../../rules/quantities.ts'

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
      else if (request !== undefined && compareAmounts(request, limit) !== 0) isGuaranteed = false
      else if (request === undefined) isGuaranteed = false
    }
  }
  if (!hasAny) return 'BestEffort'
  return isGuaranteed ? 'Guaranteed' : 'Burstable'
}

function positive(amount: string | undefined): string | undefined {
  return amount === undefined || isZeroQuantity(amount) ? undefined : amount
}
