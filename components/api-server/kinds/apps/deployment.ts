/** Deployment (upstream: pkg/apis/apps/validation, pkg/registry/apps/deployment). */
import type {
  DeploymentStrategy,
  DeploymentSpec,
  Deployment,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import {
  validateIntOrPercent,
  goIntOrString,
  amountOf,
  validateAtMost100Percent,
  goJson,
  validateNonNegativeFields,
  semanticEqual,
} from '../rules/field-rules.ts'
import {
  validateRequiredSelector,
  selectorOf,
  validateReplicaTemplate,
  goLabelSelector,
  validateReplicaCounts,
  validateCollisionCount,
} from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultDeployment } from '../rules/workload-defaults.ts'
import {
  emptySpec,
  templateHooks,
  dropDisabledTemplateFields,
  validateSameSelector,
} from './workload-template.ts'

const strategyTypes = ['Recreate', 'RollingUpdate']

function validateStrategy(strategy: DeploymentStrategy, at: FieldPath): void {
  const { type, rollingUpdate } = strategy
  const rollingAt = at.child('rollingUpdate')
  if (type === 'Recreate') {
    if (rollingUpdate !== undefined) {
      rollingAt.forbidden("may not be specified when strategy `type` is 'Recreate'")
    }
  } else if (type !== 'RollingUpdate') at.unsupported(goJson(strategy), strategyTypes)
  else if (rollingUpdate === undefined) {
    rollingAt.required('this should be defaulted and never be nil')
  } else {
    const { maxUnavailable, maxSurge } = rollingUpdate
    validateIntOrPercent(maxUnavailable, rollingAt.child('maxUnavailable'))
    validateIntOrPercent(maxSurge, rollingAt.child('maxSurge'))
    if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0) {
      rollingAt
        .child('maxUnavailable')
        .invalid(goIntOrString(maxUnavailable), 'may not be 0 when `maxSurge` is 0')
    }
    validateAtMost100Percent(maxUnavailable, rollingAt.child('maxUnavailable'))
  }
}

function validateDeploymentSpec(
  spec: DeploymentSpec,
  at: FieldPath,
  context: StrategyContext,
): void {
  validateNonNegativeFields(spec, ['replicas'], at)
  validateRequiredSelector(spec.selector, at.child('selector'), 'deployment')
  const selector = selectorOf(spec.selector)
  if (selector === undefined) {
    at.child('selector').invalid(goLabelSelector(spec.selector), 'invalid label selector')
  } else {
    validateReplicaTemplate(
      { template: spec.template, selector, kind: 'ReplicaSet' },
      at.child('template'),
      context,
    )
  }
  validateStrategy(spec.strategy ?? {}, at.child('strategy'))
  const counts = ['minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds'] as const
  validateNonNegativeFields(spec, counts, at)
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = spec
  if (deadline !== undefined && deadline <= minReadySeconds) {
    at.child('progressDeadlineSeconds').invalid(deadline, 'must be greater than minReadySeconds')
  }
}

function validateDeployment(object: KubeObject, root: FieldPath, context: StrategyContext): void {
  const { spec } = object as Deployment
  validateDeploymentSpec(spec ?? emptySpec, root.child('spec'), context)
}

export const deploymentStrategy: Strategy = {
  ...templateHooks,
  applyDefaults: defaultDeployment,
  prepareForUpdate(object, old, context) {
    dropDisabledTemplateFields(object, old, context)
    const { annotations: now } = object.metadata
    const { annotations: before, generation = 0 } = old.metadata
    // Its ReplicaSets have its annotations, so that a change of these is one of what there should be.
    if (!semanticEqual(now, before)) object.metadata.generation = generation + 1
  },
  ...validation(validateDeployment, validateSameSelector),
  subresources: {
    status: {
      prepareForUpdate(object, old) {
        restoreAllButStatus(object, old)
        const { labels } = old.metadata
        if (labels === undefined) delete object.metadata.labels
        else object.metadata.labels = labels
      },
      validateUpdate: updateValidation(({ object, old }: Change<KubeObject>, root) => {
        const at = root.child('status')
        const { status } = object as Deployment
        validateReplicaCounts(status ?? {}, at)
        validateCollisionCount(status, (old as Deployment).status, at)
      }),
    },
  },
}
