/** Rules that StorageClass and VolumeAttributesClass share (upstream: pkg/apis/storage/validation). */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { qualifiedName } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Change } from '../rules/strategy-checks.ts'
import { semanticEqual } from '../rules/field-rules.ts'

const maxParameters = 512

const maxParameterBytes = 256 * 1024

export function validateProvisioner(given: string | undefined, at: FieldPath): void {
  if (!given) at.required()
  else at.invalidEach(given.toLowerCase(), qualifiedName(given.toLowerCase()))
}

/** Bytes of all keys and values. */
export function mapBytes(map: Readonly<Record<string, string>>): number {
  return Object.entries(map).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
}

export function validateParameters(
  parameters: Readonly<Record<string, string>>,
  at: FieldPath,
  isRequired: boolean,
): void {
  const count = Object.keys(parameters).length
  if (count > maxParameters) {
    at.tooLong(maxParameters)
    return
  }
  if (Object.hasOwn(parameters, '')) at.invalid('', 'field can not be empty.')
  if (mapBytes(parameters) > maxParameterBytes) at.tooLong(maxParameterBytes)
  if (isRequired && count === 0) at.required('must contain at least one key/value pair')
}

/** Reports each of the fields that differs. */
export function validateFixed(
  { object, old }: Change<KubeObject>,
  fields: readonly string[],
  root: FieldPath,
): void {
  for (const field of fields) {
    if (semanticEqual(object[field], old[field])) continue
    root.child(field).forbidden(`updates to ${field} are forbidden.`)
  }
}
