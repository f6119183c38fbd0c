import { expect, it } from 'vitest'
import { defaultStorage } from '../../../cluster/plan/default-storage.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { StorageClass } from '../../../components/api/generated/types.ts'
import { simulatedProvisioner } from '../../../components/api/simulation.ts'
import { defaultStorageClass } from '../../../components/api/default-classes.ts'

it.each([dialects.kubernetes, dialects.svc])(
  'a new $name cluster has one default class, and its volumes are simulated',
  (dialect) => {
    const { resource, object } = defaultStorage(dialect)
    const standard = object as unknown as StorageClass
    expect(resource.kind).toBe('StorageClass')
    expect(defaultStorageClass([standard], dialect)?.metadata.name).toBe('standard')
    expect(standard).toMatchObject({
      provisioner: simulatedProvisioner,
      volumeBindingMode: 'Immediate',
      allowVolumeExpansion: true,
    })
  },
)
