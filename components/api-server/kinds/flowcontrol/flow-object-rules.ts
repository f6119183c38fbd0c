/** Rules that FlowSchema and PriorityLevelConfiguration share: their status, and the mandatory objects. */
import type { FlowSchema, PriorityLevelConfiguration } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { SubresourceStrategy } from '../strategy.ts'
import { goJson, semanticEqual } from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { updateValidation, type Change } from '../rules/strategy-checks.ts'

type WithConditions = Pick<FlowSchema | PriorityLevelConfiguration, 'status'>

export function validateStatus({ status: now }: WithConditions, root: FieldPath): void {
  const at = root.child('status').child('conditions')
  const conditions = now?.conditions ?? []
  for (const [i, { type }] of conditions.entries()) {
    const isRepeated = conditions.findIndex((other) => other.type === type) < i
    if (isRepeated) at.index(i).child('type').duplicate(type)
    if (!type) at.index(i).child('type').required('must not be empty')
  }
}

export const status: SubresourceStrategy = {
  prepareForUpdate: restoreAllButStatus,
  validateUpdate: updateValidation(({ object }: Change<WithConditions>, root) => {
    validateStatus(object, root)
  }),
}

/** The spec of the mandatory objects, which keep the server usable, is fixed but for the field `free`. */
export function validateMandatory(
  object: Pick<FlowSchema | PriorityLevelConfiguration, 'metadata' | 'spec'>,
  { mandatory, free }: { mandatory: readonly KubeObject[]; free?: string | undefined },
  at: FieldPath,
): void {
  const name = object.metadata.name ?? ''
  const fixed = mandatory.find(({ metadata }) => metadata.name === name)
  const without = (spec: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(spec).filter(([field]) => field !== free))
  const spec: Record<string, unknown> = { ...object.spec }
  if (fixed === undefined) return
  if (!semanticEqual(without(spec), without(fixed['spec'] as Record<string, unknown>))) {
    const exception = free === undefined ? '' : ` except the 'spec.${free}' field`
    at.invalid(goJson(spec), `spec of '${name}'${exception} must equal the fixed value`)
  }
}
