/** StatefulSet (upstream: pkg/apis/apps/validation, pkg/registry/apps/statefulset). */
import type { StatefulSetSpec, StatefulSet } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { templateHooks } from './workload-template.ts'
import {
  validateNonNegative,
  validateIntOrPercent,
  goIntOrString,
  amountOf,
  validateAtMost100Percent,
  goJson,
  validateOneOf,
  validateNonNegativeFields,
  semanticEqual,
} from '../rules/field-rules.ts'
import {
  validateSelectorTakesTemplate,
  validateTemplateMeta,
  validateRunsForever,
} from '../core/pod/pod-template-validation.ts'
import {
  validateRequiredSelector,
  selectorOf,
  goLabelSelector,
  validateReplicaCounts,
  validateCollisionCount,
} from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultStatefulSet } from '../rules/workload-defaults.ts'

const retentionPolicies = ['Retain', 'Delete']

function validateUpdateStrategy(spec: StatefulSetSpec, at: FieldPath): void {
  const { type, rollingUpdate } = spec.updateStrategy ?? {}
  const rollingAt = at.child('rollingUpdate')
  if (!type) at.required()
  else if (type === 'OnDelete') {
    if (rollingUpdate !== undefined) {
      rollingAt.invalid(goJson(rollingUpdate), "only allowed for updateStrategy 'RollingUpdate'")
    }
  } else if (type !== 'RollingUpdate') {
    at.invalid(goJson(spec.updateStrategy), "must be 'RollingUpdate' or 'OnDelete'")
  } else if (rollingUpdate !== undefined) {
    const { partition, maxUnavailable } = rollingUpdate
    validateNonNegative(partition, rollingAt.child('partition'))
    if (maxUnavailable === undefined) return
    const maxAt = rollingAt.child('maxUnavailable')
    validateIntOrPercent(maxUnavailable, maxAt)
    if (amountOf(maxUnavailable) === 0) maxAt.invalid(goIntOrString(maxUnavailable), 'cannot be 0')
    validateAtMost100Percent(maxUnavailable, maxAt)
  }
}

function validateStatefulSpec(spec: StatefulSetSpec, at: FieldPath, context: StrategyContext) {
  const { podManagementPolicy: management } = spec
  const managementAt = at.child('podManagementPolicy')
  if (!management) managementAt.required()
  else if (management !== 'OrderedReady' && management !== 'Parallel') {
    managementAt.invalid(management, "must be 'OrderedReady' or 'Parallel'")
  }
  validateUpdateStrategy(spec, at.child('updateStrategy'))
  const retention = spec.persistentVolumeClaimRetentionPolicy
  if (retention) {
    const retentionAt = at.child('persistentVolumeClaimRetentionPolicy')
    validateOneOf(retention.whenDeleted ?? '', retentionPolicies, retentionAt.child('whenDeleted'))
    validateOneOf(retention.whenScaled ?? '', retentionPolicies, retentionAt.child('whenScaled'))
  }
  validateNonNegativeFields(spec, ['replicas', 'minReadySeconds'], at)
  validateNonNegative(spec.ordinals?.start, at.child('ordinals.start'))
  validateRequiredSelector(spec.selector, at.child('selector'), 'statefulset')
  const selector = selectorOf(spec.selector)
  const templateAt = at.child('template')
  if (selector === undefined) at.child('selector').invalid(goLabelSelector(spec.selector), '')
  else {
    validateSelectorTakesTemplate(selector, spec.template, templateAt)
    validateTemplateMeta(spec.template, templateAt, context)
  }
  validateRunsForever(spec.template, templateAt, 'StatefulSet')
}

function validateStatefulSet(object: KubeObject, root: FieldPath, context: StrategyContext): void {
  const { spec } = object as StatefulSet
  if (spec) validateStatefulSpec(spec, root.child('spec'), context)
  else root.child('spec').required()
}

const changeableFields = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
] as const

/** The fields of a spec that may not change. */
function fixedPart(object: KubeObject): Record<string, unknown> {
  const fixed: Record<string, unknown> = { ...(object as StatefulSet).spec }
  for (const field of changeableFields) delete fixed[field]
  return fixed
}

export const statefulSetStrategy: Strategy = {
  ...templateHooks,
  nameForm: 'label',
  applyDefaults: defaultStatefulSet,
  prepareForCreate(object, context) {
    const { gates } = context
    templateHooks.prepareForCreate(object, context)
    object['status'] = { replicas: 0, availableReplicas: 0 }
    if (!gates.MaxUnavailableStatefulSet) dropMaxUnavailable(object)
  },
  prepareForUpdate(object, old, context) {
    const { gates } = context
    templateHooks.prepareForUpdate(object, old, context)
    if (!gates.MaxUnavailableStatefulSet) dropMaxUnavailable(object, old)
  },
  ...validation(validateStatefulSet, ({ object, old }: Change<KubeObject>, root) => {
    if (semanticEqual(fixedPart(object), fixedPart(old))) return
    root
      .child('spec')
      .forbidden(
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      )
  }),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object, old }: Change<KubeObject>, root) => {
        const at = root.child('status')
        const { status } = object as StatefulSet
        validateReplicaCounts(status ?? {}, at)
        validateCollisionCount(status, (old as StatefulSet).status, at)
      }),
    },
  },
}

/** With the gate off the field is not set anew; one that is there stays. */
function dropMaxUnavailable(object: KubeObject, old?: KubeObject): void {
  const before = (old as StatefulSet | undefined)?.spec?.updateStrategy?.rollingUpdate
  if (before?.maxUnavailable !== undefined) return
  delete (object as StatefulSet).spec?.updateStrategy?.rollingUpdate?.maxUnavailable
}
