/** A reference to a claim, as volumes hold it (upstream: client-go tools/reference). Pure. */
import type { ObjectReference, PersistentVolumeClaim } from '../api/generated/types.ts'

export function referenceToClaim({
  apiVersion = 'v1',
  kind = 'PersistentVolumeClaim',
  metadata,
}: PersistentVolumeClaim): ObjectReference {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = metadata
  return { kind, namespace, name, uid, apiVersion, resourceVersion }
}
