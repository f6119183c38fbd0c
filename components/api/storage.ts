/** The storage group. */
import { groupTable, since, status } from './group-table.ts'

const attributesClass = {
  kind: 'VolumeAttributesClass',
  plural: 'volumeattributesclasses',
  namespaced: false,
  shortNames: ['vac'],
}

export const storage = groupTable({
  stem: 'storage',
  package: 'storage',
  priority: 16_800,
  versions: { v1: 15, v1beta1: 9, v1alpha1: 1 },
  kinds: {
    csiDrivers: { kind: 'CSIDriver', namespaced: false, lifecycle: since('1.18') },
    csiNodes: { kind: 'CSINode', namespaced: false, lifecycle: since('1.17') },
    csiStorageCapacities: { kind: 'CSIStorageCapacity', lifecycle: since('1.24') },
    storageClasses: {
      kind: 'StorageClass',
      namespaced: false,
      shortNames: ['sc'],
      lifecycle: since('1.6'),
    },
    volumeAttachments: {
      kind: 'VolumeAttachment',
      namespaced: false,
      subresources: [status],
      lifecycle: since('1.13'),
    },
    volumeAttributesClasses: {
      ...attributesClass,
      version: 'v1beta1',
      lifecycle: { introduced: '1.31', deprecated: '1.34', removed: '1.37' },
    },
    volumeAttributesClassesV1alpha1: {
      ...attributesClass,
      version: 'v1alpha1',
      storedAs: 'storage/v1beta1',
      lifecycle: { introduced: '1.29', deprecated: '1.32', removed: '1.35' },
    },
  },
})
