/** DefaultStorageClass: a claim that names no class gets the default one (upstream: plugin/pkg/admission/storage/storageclass/setdefault). */
import { defaultStorageClass, namesClass } from '../../api/default-classes.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { PersistentVolumeClaim } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin } from './admission.ts'

export function defaultStorageClassAdmission(
  reader: ObjectReader,
  dialect: Dialect,
): AdmissionPlugin {
  const { persistentVolumeClaims, storageClasses } = resourcesOf(dialect)
  return {
    name: 'DefaultStorageClass',
    mutate({ operation, resource, subresource, object }) {
      if (operation !== 'CREATE' || resource !== persistentVolumeClaims || subresource !== '')
        return
      const claim = object as PersistentVolumeClaim | undefined
      if (claim?.spec === undefined || namesClass(claim, dialect)) return
      const found = defaultStorageClass(reader.list(storageClasses), dialect)
      if (found !== undefined) claim.spec.storageClassName = found.metadata.name ?? ''
    },
  }
}
