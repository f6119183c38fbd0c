/** The storagemigration group, off by default. */
import { groupTable, status } from './group-table.ts'

export const storagemigration = groupTable({
  stem: 'storagemigration',
  package: 'storagemigration',
  priority: 15_800,
  versions: { v1alpha1: 9 },
  kinds: {
    storageVersionMigrations: {
      kind: 'StorageVersionMigration',
      version: 'v1alpha1',
      namespaced: false,
      subresources: [status],
      lifecycle: { introduced: '1.30', deprecated: '1.33', removed: '1.36' },
    },
  },
})
