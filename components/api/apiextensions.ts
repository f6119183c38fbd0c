/** The apiextensions group. */
import { groupTable, since, status } from './group-table.ts'

export const apiextensions = groupTable({
  stem: 'apiextensions',
  package: 'apiextensions',
  priority: 16_700,
  versions: { v1: 15 },
  kinds: {
    customResourceDefinitions: {
      kind: 'CustomResourceDefinition',
      namespaced: false,
      shortNames: ['crd', 'crds'],
      categories: ['api-extensions'],
      subresources: [status],
      lifecycle: since('1.16'),
    },
  },
})
