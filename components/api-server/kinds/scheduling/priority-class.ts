/** PriorityClass (upstream: pkg/apis/scheduling). */
import type { PriorityClass } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { Strategy } from '../strategy.ts'
import { validateImmutable } from '../rules/field-rules.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'

const systemPrefix = 'system-'
const systemValues: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
}
const highestUserValue = 1_000_000_000
const preemptionPolicies = ['PreemptLowerPriority', 'Never']

/** Why the class is not one of the system's own; undefined when it is. */
function systemClassFault({ metadata, value, globalDefault }: PriorityClass): string | undefined {
  const { name = '' } = metadata
  const known = systemValues[name]
  if (known === undefined) return `${name} is not a known system priority class`
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

function validateClass(priorityClass: PriorityClass, root: FieldPath): void {
  const { metadata, value, preemptionPolicy } = priorityClass
  if (metadata.name?.startsWith(systemPrefix)) {
    const fault = systemClassFault(priorityClass)
    if (fault !== undefined) {
      root
        .child('metadata')
        .child('name')
        .forbidden(
          `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${fault}`,
        )
    }
  } else if (value > highestUserValue) {
    root
      .child('value')
      .forbidden(`maximum allowed value of a user defined priority is ${highestUserValue}`)
  }
  const policyAt = root.child('preemptionPolicy')
  if (preemptionPolicy === '') policyAt.required()
  else if (preemptionPolicy !== undefined && !preemptionPolicies.includes(preemptionPolicy)) {
    policyAt.unsupported(preemptionPolicy, preemptionPolicies)
  }
}

function validateChange(
  { object: now, old: before }: Change<PriorityClass>,
  root: FieldPath,
): void {
  if (now.value !== before.value) root.child('value').forbidden('may not be changed in an update.')
  validateImmutable(
    { now: now.preemptionPolicy, before: before.preemptionPolicy },
    root.child('preemptionPolicy'),
  )
}

export const priorityClassStrategy: Strategy = {
  applyDefaults(object) {
    ;(object as PriorityClass).preemptionPolicy ??= 'PreemptLowerPriority'
  },
  prepareForCreate(object) {
    // Updates do not increase the generation: the mutable fields are not spec.
    object.metadata.generation = 1
  },
  refuseDelete: (object) =>
    Object.hasOwn(systemValues, object.metadata.name ?? '')
      ? 'this is a system priority class and cannot be deleted'
      : undefined,
  validate: createValidation(validateClass),
  validateUpdate: updateValidation(validateChange),
}
