/** HorizontalPodAutoscaler, in its v2 form (upstream: pkg/apis/autoscaling). */
import type { Dialect } from '../../../api/dialect.ts'
import type { HorizontalPodAutoscaler, HPAScalingRules } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateMetrics, validateScaleReference } from './autoscaler-metrics.ts'
import { validateNonNegativeFields, validateOneOf } from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'

const selectPolicies = ['Disabled', 'Max', 'Min']
const policyTypes = ['Percent', 'Pods']
const maxPeriodSeconds = 1800
const maxWindowSeconds = 3600

const cpuAt80Percent = () => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
})
const doubling = () => ({ type: 'Percent', value: 100, periodSeconds: 15 })
const fourPods = () => ({ type: 'Pods', value: 4, periodSeconds: 15 })

function applyDefaults(object: KubeObject): void {
  const { spec } = object as HorizontalPodAutoscaler
  if (!spec) return
  spec.minReplicas ??= 1
  if (!spec.metrics?.length) spec.metrics = [cpuAt80Percent()]
  const { behavior } = spec
  if (!behavior) return
  const up = (behavior.scaleUp ??= {})
  up.stabilizationWindowSeconds ??= 0
  up.selectPolicy ??= 'Max'
  up.policies ??= [fourPods(), doubling()]
  const down = (behavior.scaleDown ??= {})
  down.selectPolicy ??= 'Max'
  down.policies ??= [doubling()]
}

function validateRules(rules: HPAScalingRules | undefined, at: FieldPath): void {
  if (!rules) return
  const { stabilizationWindowSeconds: window, selectPolicy, policies } = rules
  const windowAt = at.child('stabilizationWindowSeconds')
  if (window !== undefined && window < 0) {
    windowAt.invalid(window, 'must be greater than or equal to zero')
  }
  if (window !== undefined && window > maxWindowSeconds) {
    windowAt.invalid(window, `must be less than or equal to ${maxWindowSeconds}`)
  }
  validateOneOf(selectPolicy, selectPolicies, at.child('selectPolicy'))
  if (!policies?.length) at.child('policies').required('must specify at least one Policy')
  for (const [i, { type, value = 0, periodSeconds: period = 0 }] of (policies ?? []).entries()) {
    const policyAt = at.child('policies').index(i)
    validateOneOf(type ?? '', policyTypes, policyAt.child('type'))
    if (value <= 0) policyAt.child('value').invalid(value, 'must be greater than zero')
    const periodAt = policyAt.child('periodSeconds')
    if (period <= 0) periodAt.invalid(period, 'must be greater than zero')
    if (period > maxPeriodSeconds) {
      periodAt.invalid(period, `must be less than or equal to ${maxPeriodSeconds}`)
    }
  }
}

function validateState(
  { spec }: HorizontalPodAutoscaler,
  { at, dialect, lowest = 1 }: { at: FieldPath; dialect: Dialect; lowest?: number },
): void {
  const { minReplicas, maxReplicas = 0, scaleTargetRef, metrics, behavior } = spec ?? {}
  if (minReplicas !== undefined && minReplicas < lowest) {
    at.child('minReplicas').invalid(minReplicas, `must be greater than or equal to ${lowest}`)
  }
  const maxAt = at.child('maxReplicas')
  if (maxReplicas < 1) maxAt.invalid(maxReplicas, 'must be greater than 0')
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    maxAt.invalid(maxReplicas, 'must be greater than or equal to `minReplicas`')
  }
  validateScaleReference(scaleTargetRef, at.child('scaleTargetRef'))
  validateMetrics({ metrics: metrics ?? [], minReplicas, dialect }, at.child('metrics'))
  validateRules(behavior?.scaleUp, at.child('behavior').child('scaleUp'))
  validateRules(behavior?.scaleDown, at.child('behavior').child('scaleDown'))
}

export const horizontalPodAutoscalerStrategy: Strategy = {
  applyDefaults,
  prepareForCreate(object) {
    object['status'] = { desiredReplicas: 0, currentMetrics: null }
  },
  validate: createValidation((object: HorizontalPodAutoscaler, root, { dialect }) => {
    validateState(object, { at: root.child('spec'), dialect })
  }),
  validateUpdate: updateValidation(
    ({ object, old }: Change<HorizontalPodAutoscaler>, root, { dialect }) => {
      const lowest = old.spec?.minReplicas === 0 ? 0 : 1
      validateState(object, { at: root.child('spec'), dialect, lowest })
    },
  ),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object }: Change<KubeObject>, root) => {
        const at = root.child('status')
        const status = (object as HorizontalPodAutoscaler).status ?? { desiredReplicas: 0 }
        validateNonNegativeFields(status, ['currentReplicas', 'desiredReplicas'], at)
      }),
    },
  },
}
