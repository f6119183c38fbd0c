/** StorageClass and VolumeAttributesClass (upstream: pkg/apis/storage). */
import type { StorageClass, TopologySelectorTerm } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateLabelName } from '../../../machinery/validation/label-validation.ts'
import { qualifiedName } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import { semanticEqual, validateImmutable, validateOneOf } from '../rules/field-rules.ts'

const reclaimPolicies = ['Delete', 'Retain']
const bindingModes = ['Immediate', 'WaitForFirstConsumer']
const maxParameters = 512
const maxParameterBytes = 256 * 1024

function validateProvisioner(given: string | undefined, at: FieldPath): void {
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

function validateParameters(
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

/** Each term's keys with their values; equal terms are duplicates, and so is one without any key. */
function validateTopologies(terms: readonly TopologySelectorTerm[], at: FieldPath): void {
  const seen: Record<string, string[]>[] = [{}]
  for (const [i, term] of terms.entries()) {
    const keys: Record<string, string[]> = {}
    const expressionsAt = at.index(i).child('matchLabelExpressions')
    for (const [j, { key, values }] of (term.matchLabelExpressions ?? []).entries()) {
      const expressionAt = expressionsAt.index(j)
      const list = values ?? []
      if (list.length === 0) expressionAt.child('values').required()
      for (const [k, value] of list.entries()) {
        if (list.indexOf(value) < k) expressionAt.child('values').index(k).duplicate(value)
      }
      validateLabelName(key, expressionAt.child('key'))
      if (Object.hasOwn(keys, key)) expressionAt.child('key').duplicate(key)
      keys[key] = list.toSorted()
    }
    if (seen.some((other) => semanticEqual(other, keys))) expressionsAt.duplicate('')
    seen.push(keys)
  }
}

function validateClass(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const storageClass = object as StorageClass
  validateProvisioner(storageClass.provisioner, root.child('provisioner'))
  validateParameters(storageClass.parameters ?? {}, root.child('parameters'), false)
  const { reclaimPolicy, volumeBindingMode, allowedTopologies } = storageClass
  validateOneOf(reclaimPolicy || undefined, reclaimPolicies, root.child('reclaimPolicy'))
  validateOneOf(volumeBindingMode, bindingModes, root.child('volumeBindingMode'))
  validateTopologies(allowedTopologies ?? [], root.child('allowedTopologies'))
  return root.errors
}

/** Reports each of the fields that differs. */
function validateFixed(
  object: KubeObject,
  old: KubeObject,
  fields: readonly string[],
): FieldError[] {
  const root = FieldPath.root()
  for (const field of fields) {
    if (semanticEqual(object[field], old[field])) continue
    root.child(field).forbidden(`updates to ${field} are forbidden.`)
  }
  return root.errors
}

export const storageClassStrategy: Strategy = {
  applyDefaults(object) {
    const storageClass = object as StorageClass
    storageClass.reclaimPolicy ??= 'Delete'
    storageClass.volumeBindingMode ??= 'Immediate'
  },
  validate: validateClass,
  validateUpdate(object, old) {
    const at = FieldPath.root('volumeBindingMode')
    const [now, before] = [object, old].map((state) => (state as StorageClass).volumeBindingMode)
    validateImmutable({ now, before }, at)
    const fixed = ['parameters', 'provisioner', 'reclaimPolicy']
    return [...validateClass(object), ...validateFixed(object, old, fixed), ...at.errors]
  },
}

interface AttributesClass {
  readonly driverName?: string
  readonly parameters?: Record<string, string>
}

function validateAttributes(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const { driverName, parameters } = object as AttributesClass
  validateProvisioner(driverName, root.child('driverName'))
  validateParameters(parameters ?? {}, root.child('parameters'), true)
  return root.errors
}

export const volumeAttributesClassStrategy: Strategy = {
  validate: validateAttributes,
  validateUpdate: (object, old) => [
    ...validateFixed(object, old, ['driverName', 'parameters']),
    ...validateAttributes(object),
  ],
}
