/** StatefulSet, DaemonSet and ControllerRevision (upstream: pkg/apis/apps/validation, pkg/registry/apps). */
import type {
  ControllerRevision,
  DaemonSet,
  DaemonSetSpec,
  DaemonSetUpdateStrategy,
  StatefulSet,
  StatefulSetSpec,
} from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import {
  validateLabelSelector,
  isEmptySelector,
} from '../../../machinery/validation/label-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { selectorErrors, templateHooks } from './deployment.ts'
import {
  amountOf,
  goIntOrString,
  goJson,
  semanticEqual,
  validateAtMost100Percent,
  validateImmutable,
  validateIntOrPercent,
  validateNonNegative,
  validateNonNegativeFields,
  validateOneOf,
} from '../rules/field-rules.ts'
import {
  validatePodTemplate,
  validateRunsForever,
  validateSelectorTakesTemplate,
  validateTemplateMeta,
} from '../core/pod/pod-template-validation.ts'
import {
  goLabelSelector,
  selectorOf,
  validateCollisionCount,
  validateReplicaCounts,
  validateRequiredSelector,
} from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultDaemonSet, defaultStatefulSet } from '../rules/workload-defaults.ts'

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

function validateStatefulSet(object: KubeObject, context: StrategyContext): FieldError[] {
  const root = FieldPath.root()
  const { spec } = object as StatefulSet
  if (spec) validateStatefulSpec(spec, root.child('spec'), context)
  else root.child('spec').required()
  return root.errors
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
  prepareForCreate(object) {
    templateHooks.prepareForCreate(object)
    object['status'] = { replicas: 0, availableReplicas: 0 }
    dropMaxUnavailable(object)
  },
  prepareForUpdate(object, old) {
    templateHooks.prepareForUpdate(object, old)
    dropMaxUnavailable(object, old)
  },
  validate: validateStatefulSet,
  validateUpdate(object, old, context) {
    const errors = validateStatefulSet(object, context)
    if (semanticEqual(fixedPart(object), fixedPart(old))) return errors
    const at = FieldPath.root().child('spec')
    at.forbidden(
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    )
    return [...errors, ...at.errors]
  },
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate(object, old) {
        const at = FieldPath.root().child('status')
        const { status } = object as StatefulSet
        validateReplicaCounts(status ?? {}, at)
        validateCollisionCount(status, (old as StatefulSet).status, at)
        return at.errors
      },
    },
  },
}

/** The feature is off in release 1.32. */
function dropMaxUnavailable(object: KubeObject, old?: KubeObject): void {
  const before = (old as StatefulSet | undefined)?.spec?.updateStrategy?.rollingUpdate
  if (before?.maxUnavailable !== undefined) return
  delete (object as StatefulSet).spec?.updateStrategy?.rollingUpdate?.maxUnavailable
}

const daemonStrategies = ['RollingUpdate', 'OnDelete']

function validateDaemonStrategy(strategy: DaemonSetUpdateStrategy, at: FieldPath): void {
  if (strategy.type === 'OnDelete') return
  if (strategy.type !== 'RollingUpdate') {
    at.unsupported(goJson(strategy), daemonStrategies)
    return
  }
  const rollingAt = at.child('rollingUpdate')
  if (strategy.rollingUpdate === undefined) {
    rollingAt.required()
    return
  }
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate
  validateIntOrPercent(maxUnavailable, rollingAt.child('maxUnavailable'))
  validateIntOrPercent(maxSurge, rollingAt.child('maxSurge'))
  validateAtMost100Percent(maxUnavailable, rollingAt.child('maxUnavailable'))
  validateAtMost100Percent(maxSurge, rollingAt.child('maxSurge'))
  const [hasUnavailable, hasSurge] = [amountOf(maxUnavailable) !== 0, amountOf(maxSurge) !== 0]
  if (hasUnavailable && hasSurge) {
    rollingAt
      .child('maxSurge')
      .invalid(goIntOrString(maxSurge), 'may not be set when maxUnavailable is non-zero')
  } else if (!hasUnavailable && !hasSurge) {
    rollingAt.child('maxUnavailable').required('cannot be 0 when maxSurge is 0')
  }
}

function validateDaemonSpec(spec: DaemonSetSpec, at: FieldPath, context: StrategyContext): void {
  validateLabelSelector(spec.selector, at.child('selector'))
  const selector = selectorOf(spec.selector)
  const templateAt = at.child('template')
  if (selector) validateSelectorTakesTemplate(selector, spec.template, templateAt)
  if (spec.selector && isEmptySelector(spec.selector)) {
    at.child('selector').invalid(
      goLabelSelector(spec.selector),
      'empty selector is invalid for daemonset',
    )
  }
  validatePodTemplate(spec.template, templateAt, context)
  validateRunsForever(spec.template, templateAt, 'DaemonSet')
  validateNonNegativeFields(spec, ['minReadySeconds', 'revisionHistoryLimit'], at)
  validateDaemonStrategy(spec.updateStrategy ?? {}, at.child('updateStrategy'))
}

function validateDaemonSet(object: KubeObject, context: StrategyContext): FieldError[] {
  const root = FieldPath.root()
  const { spec } = object as DaemonSet
  if (spec) validateDaemonSpec(spec, root.child('spec'), context)
  else root.child('spec').required()
  return root.errors
}

const daemonCounts = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
] as const

/** Counts changes of the template: a field of the first versions, which version 1 shows as an annotation. */
const templateGenerationKey = 'deprecated.daemonset.template.generation'

function templateGenerationOf({ metadata }: KubeObject): number {
  const text = metadata.annotations?.[templateGenerationKey] ?? ''
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : 0
}

function setTemplateGeneration({ metadata }: KubeObject, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [templateGenerationKey]: String(generation) }
}

/** Only the server counts. */
function countTemplates(object: KubeObject, old: KubeObject): void {
  const before = Math.max(1, templateGenerationOf(old))
  const [now, then] = [object, old].map((one) => (one as DaemonSet).spec?.template)
  setTemplateGeneration(object, semanticEqual(now, then) ? before : before + 1)
}

export const daemonSetStrategy: Strategy = {
  ...templateHooks,
  applyDefaults(object) {
    defaultDaemonSet(object)
    setTemplateGeneration(object, templateGenerationOf(object))
  },
  prepareForUpdate(object, old) {
    templateHooks.prepareForUpdate(object, old)
    countTemplates(object, old)
  },
  prepareForCreate(object) {
    templateHooks.prepareForCreate(object)
    setTemplateGeneration(object, Math.max(1, templateGenerationOf(object)))
    object['status'] = {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    }
  },
  validate: validateDaemonSet,
  validateUpdate: (object, old, context) => [
    ...validateDaemonSet(object, context),
    ...selectorErrors(object, old),
  ],
  subresources: {
    status: {
      prepareForUpdate(object, old) {
        restoreAllButStatus(object, old)
        countTemplates(object, old)
      },
      validateUpdate(object, old) {
        const at = FieldPath.root().child('status')
        const { status } = object as DaemonSet
        if (status) validateNonNegativeFields(status, daemonCounts, at)
        validateCollisionCount(status, (old as DaemonSet).status, at)
        return at.errors
      },
    },
  },
}

function validateRevision(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const { data, revision } = object as ControllerRevision & KubeObject
  if (data === undefined || data === null) root.child('data').required('data is mandatory')
  validateNonNegative(revision, root.child('revision'))
  return root.errors
}

export const controllerRevisionStrategy: Strategy = {
  validate: validateRevision,
  validateUpdate(object, old) {
    const at = FieldPath.root().child('data')
    validateImmutable({ now: object['data'], before: old['data'] }, at)
    return [...validateRevision(object), ...at.errors]
  },
}
