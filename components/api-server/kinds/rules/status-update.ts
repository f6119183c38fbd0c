/** What status sub-resources leave alone. */
import type { KubeObject } from '../../../machinery/objects/object.ts'

/** Puts everything but status and metadata back; of the metadata, owners stay too. `object` is a draft. */
export function restoreAllButStatus(object: KubeObject, old: KubeObject): void {
  for (const field of Object.keys(object)) {
    if (isOthers(field)) delete object[field]
  }
  for (const [field, value] of Object.entries(old)) {
    if (isOthers(field)) object[field] = value as unknown
  }
  if (old.metadata.ownerReferences === undefined) delete object.metadata.ownerReferences
  else object.metadata.ownerReferences = old.metadata.ownerReferences
}

function isOthers(field: string): boolean {
  return field !== 'metadata' && field !== 'status' && field !== 'kind' && field !== 'apiVersion'
}
