/** Asks one plugin about one pod, as the tables of cases need it. */
import type { Pod } from '../../../components/api/generated/types.ts'
import type { ClusterEvent } from '../../../components/scheduler/cluster-event.ts'
import { eventLabel, labelsOf } from '../../../components/scheduler/cluster-event.ts'
import { podInfoOf } from '../../../components/scheduler/pod-info.ts'
import type { clusterWith } from '../build.ts'

type Where = ReturnType<typeof clusterWith>

function pluginOf({ profile }: Where, name: string) {
  const plugin = profile.plugins.get(name)
  if (plugin === undefined) throw new Error(`no plugin ${name}`)
  return plugin
}

/** The plugin's scores by node; undefined when it has no preference. */
export function scoresBy(where: Where, name: string, pod: Pod): Record<string, number> | undefined {
  const { nodes } = where.snapshot
  const scores = pluginOf(where, name).score?.(podInfoOf(pod), nodes, where.snapshot)
  if (scores === undefined) return undefined
  return Object.fromEntries(nodes.map((node, index) => [node.name, scores[index] ?? -1]))
}

/** The plugin's reasons by node that it rejects. */
export function rejectionsBy(where: Where, name: string, pod: Pod): Record<string, string> {
  const check = pluginOf(where, name).filter?.(podInfoOf(pod), where.snapshot)
  if (check === undefined) return {}
  if (typeof check !== 'function') return { '*': check.reasons.join(', ') }
  return Object.fromEntries(
    where.snapshot.nodes.flatMap((node) => {
      const rejection = check(node)
      return rejection === undefined ? [] : [[node.name, rejection.reasons.join(', ')]]
    }),
  )
}

/** Whether the event wakes a pod that the plugin rejected. */
export function wakes(
  where: Where,
  name: string,
  about: { pod: Pod; event: ClusterEvent },
): boolean {
  const info = podInfoOf(about.pod)
  return (pluginOf(where, name).events ?? []).some(
    (registered) =>
      labelsOf(registered).includes(eventLabel(about.event)) &&
      (registered.helps?.(info, about.event) ?? true),
  )
}
