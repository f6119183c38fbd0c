/** ClusterRole aggregation: roles with an aggregationRule have the rules of all roles it selects (upstream: controller/clusterroleaggregation). */
import { aggregatedRules } from '../api/bootstrap-policy/aggregated-rules.ts'
import type { ClusterRole } from '../api/generated/types.ts'
import { runController, source } from '../client/controller.ts'
import { deepEqual } from '../machinery/objects/object.ts'
import type { ControllerEntry } from './controller-context.ts'

const manager = 'clusterrole-aggregation-controller'

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
