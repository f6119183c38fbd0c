/** Rules that FlowSchema and PriorityLevelConfiguration share: their status, and the mandatory objects. */
import type { FlowSchema } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { SubresourceStrategy } from '../strategy.ts'
import { goJson, semanticEqual } from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'

export function validateStatus(object: KubeObject): FieldError[] {
  const at = FieldPath.root('status').child('conditions')
  const conditions = (object as FlowSchema).status?.conditions ?? []
  for (const [i, { type }] of conditions.entries()) {
    const isRepeated = conditions.findIndex((other) => other.type === type) < i
    if (isRepeated) at.index(i).child('type').duplicate(type)
    if (!type) at.index(i).child('type').required('must not be empty')
  }
  return at.errors
}

export const status: SubresourceStrategy = {
  prepareForUpdate: restoreAllButStatus,
  validateUpdate: validateStatus,
}

/** The spec of the mandatory objects, which keep the server usable, is fixed but for the field `free`. */
export function validateMandatory(
  object: KubeObject,
  mandatory: readonly KubeObject[],
  free?: string,
): FieldError[] {
  const at = FieldPath.root('spec')
  const name = object.metadata.name ?? ''
  const fixed = mandatory.find(({ metadata }) => metadata.name === name)
  const without = (spec: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(spec).filter(([field]) => field !== free))
  const spec = (object['spec'] ?? {}) as Record<string, unknown>
  if (fixed === undefined) return []
  if (!semanticEqual(without(spec), without(fixed['spec'] as Record<string, unknown>))) {
    const exception = free === undefined ? '' : ` except the 'spec.${free}' field`
    at.invalid(goJson(spec), `spec of '${name}'${exception} must equal the fixed value`)
  }
  return at.errors
}
