/** The discovery group. */
import { groupTable, since } from './group-table.ts'

export const discovery = groupTable({
  stem: 'discovery',
  package: 'discovery',
  priority: 16_200,
  versions: { v1: 15 },
  kinds: {
    endpointSlices: { kind: 'EndpointSlice', lifecycle: since('1.21') },
  },
})
