/** Printer columns and sub-resources of custom resources' versions. */
import type {
  CustomResourceColumnDefinition,
  CustomResourceSubresources,
  JSONSchemaProps,
  SelectableField,
} from '../../api/generated/types.ts'
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { fieldPathText, schemaAtFieldPath } from './field-path-text.ts'

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

/** Validates a dotted path from the object's root; false when it is invalid. */
function validateSimplePath(path: string, at: FieldPath): boolean {
  if (path.startsWith('.')) return true
  at.invalid(path, 'must be a simple json path starting with .')
  return false
}

export function validateColumn(column: CustomResourceColumnDefinition, at: FieldPath): void {
  const { name, type, format, jsonPath } = column
  if (!name) at.child('name').required()
  const typeWish = `must be one of ${columnTypes.join(',')}`
  if (!type) at.child('type').required(typeWish)
  else if (!columnTypes.includes(type)) at.child('type').invalid(type, typeWish)
  if (format && !columnFormats.includes(format)) {
    at.child('format').invalid(format, `must be one of ${columnFormats.join(',')}`)
  }
  if (!jsonPath) at.child('JSONPath').required()
  else validateSimplePath(jsonPath, at.child('JSONPath'))
}

interface ReplicasPath {
  readonly field: 'specReplicasPath' | 'statusReplicasPath' | 'labelSelectorPath'
  readonly parents: readonly string[]
  readonly isRequired: boolean
}

const scalePaths: readonly ReplicasPath[] = [
  { field: 'specReplicasPath', parents: ['.spec'], isRequired: true },
  { field: 'statusReplicasPath', parents: ['.status'], isRequired: true },
  { field: 'labelSelectorPath', parents: ['.spec', '.status'], isRequired: false },
]

export function validateSubresources({ scale }: CustomResourceSubresources, at: FieldPath): void {
  if (!scale) return
  for (const { field, parents, isRequired } of scalePaths) {
    const path = scale[field]
    const pathAt = at.child(`scale.${field}`)
    if (!path) {
      if (isRequired) pathAt.required()
    } else if (validateSimplePath(path, pathAt)) {
      if (parents.some((parent) => path.startsWith(`${parent}.`))) continue
      const where = parents.join(' or ')
      pathAt.invalid(path, `should be a json path under ${isRequired ? where : `either ${where}`}`)
    }
  }
}

const mostSelectable = 8
const selectableTypes: readonly string[] = ['string', 'boolean', 'integer']

/** Why a path cannot be a selectable field. */
function selectablePathFault(path: string): string {
  if (path.includes('[')) return 'array notation is not allowed'
  if (path.startsWith('.')) return 'does not refer to a valid field'
  return `expected [ or . but got: ${path.split(/[.\]]/, 1)[0] ?? ''}`
}

export function validateSelectableFields(
  fields: readonly SelectableField[],
  schema: JSONSchemaProps,
  at: FieldPath,
): void {
  const seen = new Set<string>()
  for (const [i, { jsonPath }] of fields.entries()) {
    const fieldAt = at.index(i)
    if (!jsonPath) {
      fieldAt.child('jsonPath').required()
      continue
    }
    const text = jsonPath.includes('[') ? undefined : fieldPathText(jsonPath, schema)
    if (text === undefined) {
      const why = `is an invalid path: ${selectablePathFault(jsonPath)}`
      fieldAt.child('jsonPath').invalid(jsonPath, why)
      continue
    }
    if (text === 'metadata' || text.startsWith('metadata.')) {
      fieldAt.invalid(jsonPath, 'must not point to fields in metadata')
    }
    if (!selectableTypes.includes(schemaAtFieldPath(jsonPath, schema)?.type ?? '')) {
      fieldAt.invalid(
        jsonPath,
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      )
    }
    if (seen.has(text)) fieldAt.duplicate(jsonPath)
    seen.add(text)
  }
  if (seen.size > mostSelectable) at.tooMany(seen.size, mostSelectable)
}
