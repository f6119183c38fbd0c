/** room: how much of quotas is used, and how many disruptions budgets allow. Pure. */
import type {
  PodDisruptionBudget,
  ResourceQuota,
} from '../../../../components/api/generated/types.ts'
import { parseQuantity } from '../../../../components/machinery/values/quantity.ts'

/** A bar. */
export interface Room {
  readonly key: string
  /** `shop/compute`. */
  readonly title: string
  readonly label: string
  /** In words: `2 of 4`. */
  readonly text: string
  /** 0 to 1. */
  readonly share: number
  readonly tone: 'good' | 'warn' | 'bad'
}

/** Above, a quota is nearly used up. */
const nearlyFull = 0.8

/** Of quantities that the server has checked; 1 for what is not known. */
function shareOf(used: string, hard: string): number {
  try {
    const [most, now] = [parseQuantity(hard).nanos, parseQuantity(used).nanos]
    if (most === 0n) return 1
    return Math.min(1, Number((now * 1000n) / most) / 1000)
  } catch {
    return 1
  }
}

const titleOf = (metadata: { namespace?: string; name?: string } = {}): string =>
  `${metadata.namespace ?? ''}/${metadata.name ?? ''}`

export function quotaRooms(quotas: readonly ResourceQuota[]): Room[] {
  return quotas.flatMap(({ metadata, status }) => {
    const title = titleOf(metadata)
    return Object.entries(status?.hard ?? {}).map(([label, hard]): Room => {
      const used = String(status?.used?.[label] ?? '0')
      const share = shareOf(used, String(hard))
      const tone = share >= 1 ? 'bad' : share >= nearlyFull ? 'warn' : 'good'
      return {
        key: `${title} ${label}`,
        title,
        label,
        text: `${used} of ${String(hard)}`,
        share,
        tone,
      }
    })
  })
}

/** A full bar: every pod of the budget is healthy. */
export function budgetRooms(budgets: readonly PodDisruptionBudget[]): Room[] {
  return budgets.map(({ metadata, status }): Room => {
    const title = titleOf(metadata)
    const {
      currentHealthy = 0,
      desiredHealthy = 0,
      expectedPods = 0,
      disruptionsAllowed = 0,
    } = status ?? {}
    const allowed = disruptionsAllowed === 1 ? '1 eviction' : `${disruptionsAllowed} evictions`
    return {
      key: title,
      title,
      label: 'healthy pods',
      text: `${currentHealthy} of ${expectedPods} healthy, ${desiredHealthy} needed: ${allowed} allowed`,
      share: expectedPods === 0 ? 0 : Math.min(1, currentHealthy / expectedPods),
      tone: disruptionsAllowed > 0 ? 'good' : currentHealthy < desiredHealthy ? 'bad' : 'warn',
    }
  })
}
