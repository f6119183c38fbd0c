/** Names of a claim's requests, and references to them. */
import type { DeviceClaim } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { mostEntries, validateEntries, validateLabelName, validateUnique } from './device-fields.ts'

export function requestNamesOf(devices: DeviceClaim | undefined): ReadonlySet<string> {
  return new Set((devices?.requests ?? []).map(({ name }) => name))
}

export function validateRequestName(name: string, at: FieldPath, names: ReadonlySet<string>): void {
  validateLabelName(name, at)
  if (!names.has(name)) at.invalid(name, 'must be the name of a request in the claim')
}

/** A list that names each request once at most. */
export function validateRequestNames(
  given: readonly string[] | undefined,
  at: FieldPath,
  names: ReadonlySet<string>,
): void {
  validateEntries(given ?? [], { at, most: mostEntries }, (name, nameAt) => {
    validateRequestName(name, nameAt, names)
  })
  validateUnique(given ?? [], at)
}
