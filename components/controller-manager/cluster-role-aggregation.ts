/** ClusterRole aggregation: roles with an aggregationRule have the rules of all roles it selects (upstream: controller/clusterroleaggregation). */
import type { ClusterRole, PolicyRule } from '../api/generated/types.ts'
import { runController, source } from '../client/controller.ts'
import { labelSelectorFrom, matchesLabels } from '../machinery/selectors/label-selector.ts'
import { deepEqual } from '../machinery/objects/object.ts'
import type { ControllerEntry } from './controller-context.ts'

const manager = 'clusterrole-aggregation-controller'

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

export const clusterRoleAggregation: ControllerEntry = {
  name: manager,
  aliases: ['clusterrole-aggregation'],
  defaultOn: true,
  start: async ({ client, informers, resources, clock, log, queues }, signal) => {
    const roles = client.resource<ClusterRole>(resources.clusterRoles)
    const informer = informers.informer<ClusterRole>(resources.clusterRoles)
    const aggregating = (): string[] =>
      informer
        .list()
        .filter((role) => role.aggregationRule !== undefined)
        .map(({ metadata }) => metadata.name ?? '')
    await runController(
      {
        queues,
        name: manager,
        // Any role may be part of any that aggregates.
        informers: [source(informer, aggregating)],
        reconcile: async (name) => {
          const role = informer.get(name)
          if (role?.aggregationRule === undefined) return
          const rules = aggregatedRules(role, informer.list())
          if (deepEqual(rules, role.rules ?? [])) return
          await roles.update({ ...role, rules }, { fieldManager: manager, signal })
          log.info('aggregated cluster role updated', { role: name, rules: rules.length })
        },
        workers: 5,
        clock,
        log,
      },
      signal,
    )
  },
}
