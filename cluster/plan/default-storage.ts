/** The default StorageClass of a new cluster: its volumes are simulated, so that a claim is bound without further set-up. */
import { apiGroup, labelKey } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { simulatedProvisioner } from '../../components/api/simulation.ts'
import type { PlacedObject } from './join-objects.ts'

/** Named as local clusters of upstream name theirs. */
export function defaultStorage(dialect: Dialect): PlacedObject {
  return {
    resource: resourcesOf(dialect).storageClasses,
    object: {
      apiVersion: `${apiGroup(dialect, 'storage')}/v1`,
      kind: 'StorageClass',
      metadata: {
        name: 'standard',
        annotations: { [labelKey(dialect, 'storageclass', 'is-default-class')]: 'true' },
      },
      provisioner: simulatedProvisioner,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'Immediate',
      allowVolumeExpansion: true,
    },
  }
}
