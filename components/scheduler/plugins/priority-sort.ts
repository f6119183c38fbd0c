/** PrioritySort: higher priority first, then first come, first served (upstream: plugins/queuesort). */
import type { PluginWith } from '../plugin.ts'

export const prioritySort: PluginWith<'compare'> = {
  name: 'PrioritySort',
  compare: (a, b) => b.info.priority - a.info.priority || a.since - b.since,
}
