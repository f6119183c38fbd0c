/** PersistentVolumeClaimResize: a claim grows only if its class allows it (upstream: plugin/pkg/admission/storage/persistentvolume/resize; KEP-284). */
import { claimClassName } from '../../api/default-classes.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { compareQuantities } from '../../machinery/values/quantity.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

function sizeOf({ spec }: PersistentVolumeClaim): string {
  return spec?.resources?.requests?.['storage'] ?? '0'
}

export function persistentVolumeClaimResize(
  reader: ObjectReader,
  dialect: Dialect,
): AdmissionPlugin {
  const { persistentVolumeClaims, storageClasses } = resourcesOf(dialect)

  function mayGrow(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
    const name = claimClassName(claim, dialect)
    if (name === '' || name !== claimClassName(old, dialect)) return false
    const found = reader.get(storageClasses, '', name) as StorageClass | undefined
    return found?.allowVolumeExpansion === true
  }

  return {
    name: 'PersistentVolumeClaimResize',
    validate(request) {
      const { operation, resource, subresource, object, old } = request
      if (operation !== 'UPDATE' || resource !== persistentVolumeClaims || subresource !== '')
        return
      if (object === undefined || old === undefined) return
      const [claim, before] = [object, old] as [PersistentVolumeClaim, PersistentVolumeClaim]
      if (compareQuantities(sizeOf(claim), sizeOf(before)) <= 0) return
      if (before.status?.phase !== 'Bound') {
        const why = 'Only bound persistent volume claims can be expanded'
        throw admissionForbidden(request, why)
      }
      if (mayGrow(claim, before)) return
      const why =
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
      throw admissionForbidden(request, why)
    },
  }
}
