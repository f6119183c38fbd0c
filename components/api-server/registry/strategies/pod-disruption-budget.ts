/** PodDisruptionBudget (upstream: pkg/apis/policy). */
import type {
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
} from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/field-path.ts'
import { validateConditions, validateLabelSelector } from '../../../machinery/label-validation.ts'
import type { KubeObject } from '../../../machinery/object.ts'
import type { FieldError } from '../../../machinery/status-error.ts'
import type { Strategy } from '../strategy.ts'
import {
  goJson,
  validateAtMost100Percent,
  validateIntOrPercent,
  validateNonNegativeFields,
  validateOneOf,
} from './field-rules.ts'
import { restoreAllButStatus } from './status-update.ts'

const evictionPolicies = ['AlwaysAllow', 'IfHealthyBudget']
const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const

function validate(object: KubeObject): FieldError[] {
  const at = FieldPath.root('spec')
  const spec = (object as PodDisruptionBudget).spec ?? {}
  if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
    at.invalid(goJson(spec), 'minAvailable and maxUnavailable cannot be both set')
  }
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    const amount = spec[field]
    if (amount === undefined) continue
    validateIntOrPercent(amount, at.child(field))
    validateAtMost100Percent(amount, at.child(field))
  }
  validateLabelSelector(spec.selector, at.child('selector'))
  const policy = spec.unhealthyPodEvictionPolicy
  validateOneOf(policy, evictionPolicies, at.child('unhealthyPodEvictionPolicy'))
  return at.errors
}

const noStatus: PodDisruptionBudgetStatus = {
  disruptionsAllowed: 0,
  currentHealthy: 0,
  desiredHealthy: 0,
  expectedPods: 0,
}

export const podDisruptionBudgetStrategy: Strategy = {
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  prepareForCreate(object) {
    object['status'] = { ...noStatus }
  },
  validate,
  validateUpdate: validate,
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate(object) {
        const at = FieldPath.root('status')
        const status = (object as PodDisruptionBudget).status ?? noStatus
        validateConditions(status.conditions, at.child('conditions'))
        validateNonNegativeFields(status, counts, at)
        return at.errors
      },
    },
  },
}
