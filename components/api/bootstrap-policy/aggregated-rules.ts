/** Aggregated rules: what a role with an aggregationRule allows (upstream: controller/clusterroleaggregation). */
import { deepEqual } from '../../machinery/objects/object.ts'
import { labelSelectorFrom, matchesLabels } from '../../machinery/selectors/label-selector.ts'
import type { ClusterRole, PolicyRule } from '../generated/types.ts'

/** The rules a role must have: those of the selected roles in order of names, each rule once. */
export function aggregatedRules(role: ClusterRole, all: readonly ClusterRole[]): PolicyRule[] {
  const selectors = (role.aggregationRule?.clusterRoleSelectors ?? []).map(labelSelectorFrom)
  const rules: PolicyRule[] = []
  const byName = all.toSorted((a, b) =>
    (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1,
  )
  for (const selector of selectors) {
    for (const other of byName) {
      if (other.metadata.name === role.metadata.name) continue
      if (!matchesLabels(selector, other.metadata.labels ?? {})) continue
      for (const rule of other.rules ?? [])
        if (!rules.some((known) => deepEqual(known, rule))) rules.push(rule)
    }
  }
  return rules
}
