/** Rules of `metadata` that hold for every kind (upstream: apimachinery api/validation/objectmeta.go). */
import { FieldPath } from './field-path.ts'
import { goList, goStruct, GoText } from '../values/go-syntax.ts'
import { validateAnnotations, validateLabels } from './label-validation.ts'
import type { NameForm } from './names.ts'
import { label1123, objectName, objectNamePrefix, qualifiedName } from './names.ts'
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../objects/object.ts'
import type { FieldError } from '../objects/status-error.ts'

export interface ObjectMetaRules {
  readonly namespaced: boolean
  /** Default `subdomain`. */
  readonly nameForm?: NameForm
  /** Where the metadata stands; default `metadata`. */
  readonly path?: string
  /** Finalizers without a domain that are allowed besides upstream's `orphan` and `foregroundDeletion`; `any`: all. */
  readonly standardFinalizers?: StandardFinalizers
}

type StandardFinalizers = readonly string[] | 'any'

const orphanFinalizer = 'orphan'
const foregroundFinalizer = 'foregroundDeletion'

/** Faults of a new object's metadata. The name must have been generated already. */
export function validateObjectMeta(metadata: ObjectMeta, rules: ObjectMetaRules): FieldError[] {
  const at = FieldPath.root(rules.path ?? 'metadata')
  const { name = '', generateName = '', namespace = '' } = metadata
  const form = rules.nameForm ?? 'subdomain'
  if (generateName !== '') {
    at.child('generateName').invalidEach(generateName, objectNamePrefix(generateName, form))
  }
  if (name === '') at.child('name').required('name or generateName is required')
  else at.child('name').invalidEach(name, objectName(name, form))

  if (!rules.namespaced) {
    if (namespace !== '') at.child('namespace').forbidden('not allowed on this type')
  } else if (namespace === '') at.child('namespace').required()
  else at.child('namespace').invalidEach(namespace, label1123(namespace))

  validateMutableMeta(metadata, at, rules)
  return at.errors
}

/** The checks that create and update share. */
function validateMutableMeta(
  metadata: ObjectMeta,
  at: FieldPath,
  { standardFinalizers = [] }: Partial<ObjectMetaRules>,
): void {
  const {
    generation = 0,
    labels,
    annotations,
    ownerReferences,
    finalizers,
    managedFields,
  } = metadata
  if (generation < 0) {
    at.child('generation').invalid(generation, 'must be greater than or equal to 0')
  }
  if (labels) validateLabels(labels, at.child('labels'))
  if (annotations) validateAnnotations(annotations, at.child('annotations'))
  if (ownerReferences) validateOwnerReferences(ownerReferences, at.child('ownerReferences'))
  if (finalizers) validateFinalizers(finalizers, at.child('finalizers'), standardFinalizers)
  if (managedFields) validateManagedFields(managedFields, at.child('managedFields'))
}

function goOwnerReference(reference: OwnerReference): GoText {
  const { apiVersion, kind, name, uid } = reference
  return goStruct('v1.OwnerReference', { APIVersion: apiVersion, Kind: kind, Name: name, UID: uid })
}

function validateOwnerReferences(references: readonly OwnerReference[], at: FieldPath): void {
  let controller = ''
  for (const reference of references) {
    const { apiVersion, kind, name, uid } = reference
    const version = apiVersion?.slice(apiVersion.indexOf('/') + 1) ?? ''
    if (version === '') at.child('apiVersion').invalid(apiVersion, 'version must not be empty')
    for (const [field, value] of Object.entries({ kind, name, uid })) {
      if (!value) at.child(field).invalid(value ?? '', 'must not be empty')
    }
    if (apiVersion === 'v1' && kind === 'Event') {
      at.invalid(goOwnerReference(reference), '/v1, Kind=Event is disallowed from being an owner')
    }
    if (reference.controller !== true) continue
    const current = `${kind}/${name}`
    if (controller === '') controller = current
    else {
      const shown = references.map(goOwnerReference)
      at.invalid(
        goList(shown, 'v1.OwnerReference'),
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${current}`,
      )
    }
  }
}

/** A finalizer's name alone: `spec.finalizers` of namespaces holds the same names. */
export function validateFinalizerName(
  name: string,
  at: FieldPath,
  standardFinalizers: StandardFinalizers,
): void {
  at.invalidEach(name, qualifiedName(name))
  validateFinalizerDomain(name, at, standardFinalizers)
}

function validateFinalizerDomain(
  name: string,
  at: FieldPath,
  standardFinalizers: StandardFinalizers,
): void {
  if (name.includes('/') || name === orphanFinalizer || name === foregroundFinalizer) return
  if (standardFinalizers === 'any' || standardFinalizers.includes(name)) return
  at.invalid(name, 'name is neither a standard finalizer name nor is it fully qualified')
}

function validateFinalizers(
  finalizers: readonly string[],
  at: FieldPath,
  standardFinalizers: StandardFinalizers,
): void {
  for (const name of finalizers) at.invalidEach(name, qualifiedName(name))
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    at.invalid(
      goList(finalizers),
      `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`,
    )
  }
  for (const [i, name] of finalizers.entries()) {
    validateFinalizerDomain(name, at.index(i), standardFinalizers)
  }
}

const maxManagerBytes = 128
const maxSubresourceBytes = 256

/** The name of a field manager: at most 128 bytes, printable. */
export function validateFieldManager(manager: string, at: FieldPath): void {
  if (Buffer.byteLength(manager) > maxManagerBytes) at.tooLong(maxManagerBytes)
  let position = 0
  for (const rune of manager) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(rune)) {
      const code = (rune.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      at.invalid(manager, `invalid character U+${code} (at position ${position})`)
    }
    position += Buffer.byteLength(rune)
  }
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[], at: FieldPath): void {
  for (const [i, entry] of entries.entries()) {
    const { operation = '', fieldsType = '', manager = '', subresource = '' } = entry
    const entryAt = at.index(i)
    if (operation !== 'Apply' && operation !== 'Update') {
      entryAt.child('operation').invalid(operation, 'must be `Apply` or `Update`')
    }
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
      entryAt.child('fieldsType').invalid(fieldsType, 'must be `FieldsV1`')
    }
    validateFieldManager(manager, entryAt.child('manager'))
    if (Buffer.byteLength(subresource) > maxSubresourceBytes) {
      entryAt.child('subresource').tooLong(maxSubresourceBytes)
    }
  }
}

/** `field is immutable`, the text of every forbidden change of one field. */
export const fieldIsImmutable = 'field is immutable'

// In the order in which upstream reports them.
const immutableFields = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const

/**
 * Faults of an update's metadata. Each is reported twice, as upstream does, where both the generic verb and the kind's
 * own rules look at the metadata; the message of the 422 names it once.
 */
export function validateObjectMetaUpdate(
  metadata: ObjectMeta,
  old: ObjectMeta,
  rules: Pick<ObjectMetaRules, 'path' | 'standardFinalizers'> = {},
): FieldError[] {
  const at = FieldPath.root(rules.path ?? 'metadata')
  if (old.deletionTimestamp) {
    const before = new Set(old.finalizers)
    const added = (metadata.finalizers ?? []).filter((name) => !before.has(name)).toSorted()
    if (added.length > 0) {
      at.child('finalizers').forbidden(
        `no new finalizers can be added if the object is being deleted, found new finalizers ${goList(added).text}`,
      )
    }
  }
  if (!metadata.resourceVersion) {
    at.child('resourceVersion').invalid('', 'must be specified for an update')
  }
  if ((metadata.generation ?? 0) < (old.generation ?? 0)) {
    at.child('generation').invalid(metadata.generation ?? 0, 'must not be decremented')
  }
  for (const field of immutableFields) {
    const [now, before] = [metadata[field] ?? undefined, old[field] ?? undefined]
    if (now !== before) at.child(field).invalid(shownField(field, now), fieldIsImmutable)
  }
  validateMutableMeta(metadata, at, rules)
  return at.errors.length === 0 ? at.errors : [...at.errors, ...at.errors]
}

/** Absent texts show as "", absent pointers as null. */
function shownField(
  field: (typeof immutableFields)[number],
  value: string | number | undefined,
): string | number | undefined {
  const isPointer = field.startsWith('deletion') || field === 'creationTimestamp'
  return value === undefined && !isPointer ? '' : value
}
