/** The policy group. Evictions live at `pods/eviction`. */
import { groupTable, since, status } from './group-table.ts'

export const policy = groupTable({
  stem: 'policy',
  package: 'policy',
  priority: 17_100,
  versions: { v1: 15 },
  kinds: {
    podDisruptionBudgets: {
      kind: 'PodDisruptionBudget',
      shortNames: ['pdb'],
      subresources: [status],
      lifecycle: since('1.21'),
    },
  },
})
