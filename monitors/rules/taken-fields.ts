/**
 * No client writes what another owns: a field that one manager applies is not changed by another's update (a server-side apply would have to
 * be forced), and a field of the status is written by one manager.
 */
import type { Change } from '../change.ts'
import { nameOf } from '../change.ts'
import { takenFields, type TakenField } from '../field-owners.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

/** Kinds whose status several components write by design. */
const sharedStatus = new Set([
  'nodes',
  'pods',
  'persistentvolumeclaims',
  'persistentvolumes',
  'poddisruptionbudgets',
  'resourceclaims.resource',
  'resourcequotas',
  'volumeattachments',
])
/** The garbage collector takes it from references that may form a circle (upstream: garbagecollector.go, attemptToDeleteItem). */
const unblocked = /^metadata\.ownerReferences\[.*\]\.blockOwnerDeletion$/
const mostNamed = 3

function isWrong({ isStatus, path, from, to }: TakenField, plural: string): boolean {
  if (isStatus) return !sharedStatus.has(plural)
  if (unblocked.test(path)) return false
  return from.operation === 'Apply' && to.operation === 'Update'
}

function textOf(change: Change, fields: readonly TakenField[]): string {
  const [first] = fields
  if (first === undefined) return ''
  const shown = fields.slice(0, mostNamed).map(({ path }) => path)
  const more = fields.length > mostNamed ? ` and ${fields.length - mostNamed} more` : ''
  const { from, to } = first
  const how = first.isStatus
    ? `which ${from.manager} writes`
    : `which ${from.manager} applies, without an apply`
  return `${to.manager} wrote ${shown.join(', ')}${more} of ${nameOf(change)} at revision ${change.revision}, ${how}`
}

export function takenOwnership(): Required<Pick<Rule, 'take'>> {
  return {
    take: (change): Finding[] => {
      const { old, object, isListed, type, resource } = change
      if (type !== 'MODIFIED' || old === undefined || isListed) return []
      if (object.metadata.managedFields === undefined) return []
      const stem = resource.group.split('.')[0] ?? ''
      const plural = stem === 'resource' ? `${resource.plural}.${stem}` : resource.plural
      const wrong = takenFields(old, object).filter((field) => isWrong(field, plural))
      const groups = [wrong.filter((one) => one.isStatus), wrong.filter((one) => !one.isStatus)]
      return groups
        .filter((fields) => fields.length > 0)
        .map((fields) =>
          findingOf(change, textOf(change, fields), [old.metadata.resourceVersion ?? '']),
        )
    },
  }
}
