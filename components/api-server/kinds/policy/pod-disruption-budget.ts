/** PodDisruptionBudget (upstream: pkg/apis/policy). */
import { labelKey } from '../../../api/dialect.ts'
import type {
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import {
  validateConditions,
  validateLabelSelector,
} from '../../../machinery/validation/label-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import {
  goJson,
  validateAtMost100Percent,
  validateIntOrPercent,
  validateNonNegativeFields,
  validateOneOf,
} from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'

const evictionPolicies = ['AlwaysAllow', 'IfHealthyBudget']
const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const

function validate(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec')
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
}

/**
 * The requirement that stands for the empty selector of v1beta1 is only ever alone: beside others it is dropped
 * (upstream: pkg/apis/policy/v1/conversion.go).
 */
function dropEmptySelectorMark(object: KubeObject, { dialect }: StrategyContext): void {
  const { selector } = (object as PodDisruptionBudget).spec ?? {}
  const requirements = selector?.matchExpressions
  if (!selector || !requirements) return
  const key = labelKey(dialect, 'pdb', 'deprecated-v1beta1-empty-selector-match')
  const isAlone = requirements.length === 1 && Object.keys(selector.matchLabels ?? {}).length === 0
  if (isAlone && requirements[0]?.operator === 'Exists') return
  const others = requirements.filter((requirement) => requirement.key !== key)
  if (others.length === requirements.length) return
  if (others.length === 0) delete selector.matchExpressions
  else selector.matchExpressions = others
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
  applyDefaults: dropEmptySelectorMark,
  prepareForCreate(object) {
    object['status'] = { ...noStatus }
  },
  ...validation(validate),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object }: Change<KubeObject>, root) => {
        const at = root.child('status')
        const status = (object as PodDisruptionBudget).status ?? noStatus
        validateConditions(status.conditions, at.child('conditions'))
        validateNonNegativeFields(status, counts, at)
      }),
    },
  },
}
