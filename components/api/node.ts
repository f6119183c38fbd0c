/** The node group. */
import { groupTable, since } from './group-table.ts'

export const node = groupTable({
  stem: 'node',
  package: 'node',
  priority: 16_300,
  versions: { v1: 15 },
  kinds: {
    runtimeClasses: { kind: 'RuntimeClass', namespaced: false, lifecycle: since('1.20') },
  },
})
