/** Which of the pods that may be preempted would violate a PodDisruptionBudget (upstream: filterPodsWithPDBViolation). */
import type { PodDisruptionBudget } from '../../api/generated/types.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { labelSelectorFrom, matchesLabels } from '../../machinery/selectors/label-selector.ts'
import type { PodInfo } from '../pod-info.ts'

/** An invalid selector and an empty one match no pod, as upstream. */
function selectorOf({ spec }: PodDisruptionBudget): LabelSelector | undefined {
  try {
    const selector = labelSelectorFrom(spec?.selector)
    return selector.length === 0 ? undefined : selector
  } catch {
    return undefined
  }
}

/** Splits pods, in their order, by whether evicting them, one after the other, exceeds what a budget allows. */
export function splitByBudgets(
  pods: readonly PodInfo[],
  budgets: readonly PodDisruptionBudget[],
): { readonly violating: PodInfo[]; readonly others: PodInfo[] } {
  const left = budgets.map((budget) => ({
    budget,
    selector: selectorOf(budget),
    allowed: budget.status?.disruptionsAllowed ?? 0,
  }))
  const violating: PodInfo[] = []
  const others: PodInfo[] = []
  for (const info of pods) {
    const { namespace, name = '', labels } = info.pod.metadata
    let isViolated = false
    for (const each of left) {
      const { budget, selector } = each
      if (budget.metadata.namespace !== namespace || selector === undefined) continue
      if (labels === undefined || !matchesLabels(selector, labels)) continue
      // The budget counts this disruption already.
      if (Object.hasOwn(budget.status?.disruptedPods ?? {}, name)) continue
      each.allowed -= 1
      if (each.allowed < 0) isViolated = true
    }
    if (isViolated) violating.push(info)
    else others.push(info)
  }
  return { violating, others }
}
