/** The flowcontrol.apiserver group. */
import { groupTable, since, status } from './group-table.ts'

const common = { namespaced: false, subresources: [status], lifecycle: since('1.29') }

export const flowcontrol = groupTable({
  stem: 'flowcontrol.apiserver',
  package: 'flowcontrol',
  priority: 16_100,
  versions: { v1: 21 },
  kinds: {
    flowSchemas: { kind: 'FlowSchema', ...common },
    priorityLevelConfigurations: { kind: 'PriorityLevelConfiguration', ...common },
  },
})
