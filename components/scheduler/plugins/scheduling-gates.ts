/** SchedulingGates: a pod with gates does not enter the active queue (upstream: plugins/schedulinggates, KEP-3521). */
import { registeredPods } from '../cluster-event.ts'
import type { PluginWith } from '../plugin.ts'

export const schedulingGates: PluginWith<'preEnqueue'> = {
  name: 'SchedulingGates',
  events: [
    registeredPods(
      ['UpdatePodSchedulingGatesEliminated'],
      ({ uid }, { now }) => now?.metadata.uid === uid,
    ),
  ],
  preEnqueue({ pod }) {
    const gates = pod.spec?.schedulingGates ?? []
    if (gates.length === 0) return undefined
    const names = gates.map(({ name }) => name).join(' ')
    return { reasons: [`waiting for scheduling gates: [${names}]`], resolvable: false }
  },
}
