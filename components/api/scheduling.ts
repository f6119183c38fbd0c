/** The scheduling group. */
import { groupTable, since } from './group-table.ts'

export const scheduling = groupTable({
  stem: 'scheduling',
  package: 'scheduling',
  priority: 16_600,
  versions: { v1: 15 },
  kinds: {
    priorityClasses: {
      kind: 'PriorityClass',
      namespaced: false,
      shortNames: ['pc'],
      lifecycle: since('1.14'),
    },
  },
})
