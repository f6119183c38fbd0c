/** StorageObjectInUseProtection: volumes and claims get the finalizer that keeps them while they are in use (upstream: plugin/pkg/admission/storage/storageobjectinuseprotection; KEP-498). */
import { labelKey, type Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { AdmissionPlugin } from './admission.ts'

export function storageObjectInUseProtection(dialect: Dialect): AdmissionPlugin {
  const { persistentVolumes, persistentVolumeClaims } = resourcesOf(dialect)
  const ofVolumes = labelKey(dialect, '', 'pv-protection')
  const ofClaims = labelKey(dialect, '', 'pvc-protection')
  return {
    name: 'StorageObjectInUseProtection',
    mutate({ operation, resource, subresource, object }) {
      if (operation !== 'CREATE' || subresource !== '' || object === undefined) return
      if (resource !== persistentVolumes && resource !== persistentVolumeClaims) return
      const finalizer = resource === persistentVolumes ? ofVolumes : ofClaims
      const finalizers = object.metadata.finalizers ?? []
      if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer]
    },
  }
}
