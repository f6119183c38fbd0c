/** changedManagers: who wrote between two versions of an object, by their managedFields. Pure. */
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import type { ManagedFieldsEntry } from '../object/field-owners.ts'

function entriesOf({ metadata }: KubeObject): readonly ManagedFieldsEntry[] {
  return (metadata.managedFields ?? []) as readonly ManagedFieldsEntry[]
}

const identity = ({ manager, operation, subresource, apiVersion }: ManagedFieldsEntry): string =>
  JSON.stringify([manager, operation, subresource, apiVersion])

/** `kubectl`, `kube-controller-manager of status`; each once. */
export function managerText({ manager = 'unknown', subresource }: ManagedFieldsEntry): string {
  return subresource ? `${manager} of ${subresource}` : manager
}

/** Entries that are new or changed in the newer version. */
export function changedManagers(before: KubeObject, after: KubeObject): ManagedFieldsEntry[] {
  const known = new Map(entriesOf(before).map((entry) => [identity(entry), JSON.stringify(entry)]))
  return entriesOf(after).filter((entry) => known.get(identity(entry)) !== JSON.stringify(entry))
}
