/** The internal.apiserver group, off by default. */
import { groupTable, since, status } from './group-table.ts'

export const internalApiserver = groupTable({
  stem: 'internal.apiserver',
  package: 'apiserverinternal',
  priority: 16_000,
  versions: { v1alpha1: 9 },
  kinds: {
    storageVersions: {
      kind: 'StorageVersion',
      version: 'v1alpha1',
      namespaced: false,
      subresources: [status],
      lifecycle: since('1.20'),
    },
  },
})
