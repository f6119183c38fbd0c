/** The apiregistration group, which leads the list of groups. */
import { groupTable, since, status } from './group-table.ts'

export const apiregistration = groupTable({
  stem: 'apiregistration',
  package: 'apiregistration',
  priority: 20_000,
  versions: { v1: 15 },
  kinds: {
    apiServices: {
      kind: 'APIService',
      namespaced: false,
      categories: ['api-extensions'],
      subresources: [status],
      lifecycle: since('1.10'),
    },
  },
})
