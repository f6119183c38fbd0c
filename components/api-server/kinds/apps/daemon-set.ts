/** DaemonSet (upstream: pkg/apis/apps/validation, pkg/registry/apps/daemonset). */
import type {
  DaemonSetUpdateStrategy,
  DaemonSetSpec,
  DaemonSet,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import {
  validateLabelSelector,
  isEmptySelector,
} from '../../../machinery/validation/label-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { templateHooks, validateSameSelector } from './workload-template.ts'
import {
  goJson,
  validateIntOrPercent,
  validateAtMost100Percent,
  amountOf,
  goIntOrString,
  validateNonNegativeFields,
  semanticEqual,
} from '../rules/field-rules.ts'
import {
  validateSelectorTakesTemplate,
  validatePodTemplate,
  validateRunsForever,
} from '../core/pod/pod-template-validation.ts'
import { selectorOf, goLabelSelector, validateCollisionCount } from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultDaemonSet } from '../rules/workload-defaults.ts'

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

function validateDaemonSet(object: KubeObject, root: FieldPath, context: StrategyContext): void {
  const { spec } = object as DaemonSet
  if (spec) validateDaemonSpec(spec, root.child('spec'), context)
  else root.child('spec').required()
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
  prepareForUpdate(object, old, context) {
    templateHooks.prepareForUpdate(object, old, context)
    countTemplates(object, old)
  },
  prepareForCreate(object, context) {
    templateHooks.prepareForCreate(object, context)
    setTemplateGeneration(object, Math.max(1, templateGenerationOf(object)))
    object['status'] = {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    }
  },
  ...validation(validateDaemonSet, validateSameSelector),
  subresources: {
    status: {
      prepareForUpdate(object, old) {
        restoreAllButStatus(object, old)
        countTemplates(object, old)
      },
      validateUpdate: updateValidation(({ object, old }: Change<KubeObject>, root) => {
        const at = root.child('status')
        const { status } = object as DaemonSet
        if (status) validateNonNegativeFields(status, daemonCounts, at)
        validateCollisionCount(status, (old as DaemonSet).status, at)
      }),
    },
  },
}
