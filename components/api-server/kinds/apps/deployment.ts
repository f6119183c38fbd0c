/** Deployment and ReplicaSet (upstream: pkg/apis/apps/validation, pkg/registry/apps). */
import type {
  Deployment,
  DeploymentSpec,
  DeploymentStrategy,
  ReplicaSet,
} from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import {
  amountOf,
  goIntOrString,
  goJson,
  semanticEqual,
  validateAtMost100Percent,
  validateImmutable,
  validateIntOrPercent,
  validateNonNegativeFields,
} from '../rules/field-rules.ts'
import { dropDisabledPodFields } from '../core/pod/pod-features.ts'
import { templateWarnings } from '../core/pod/pod-warnings.ts'
import {
  goLabelSelector,
  selectorOf,
  validateCollisionCount,
  validateReplicaCounts,
  validateReplicaTemplate,
  validateRequiredSelector,
} from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultDeployment, defaultReplicaSet } from '../rules/workload-defaults.ts'

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

function validateDeployment(object: KubeObject, context: StrategyContext): FieldError[] {
  const root = FieldPath.root()
  const { spec } = object as Deployment
  validateDeploymentSpec(spec ?? emptySpec, root.child('spec'), context)
  return root.errors
}

const emptySpec = { selector: undefined, template: undefined } as unknown as DeploymentSpec

/** The selector is fixed at creation. */
export function selectorErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const now = (object as Deployment).spec?.selector
  const before = (old as Deployment).spec?.selector
  validateImmutable(
    { now, before, shown: goLabelSelector(now) },
    root.child('spec').child('selector'),
  )
  return root.errors
}

function dropDisabledTemplateFields(object: KubeObject, old?: KubeObject): void {
  const spec = (object as Deployment).spec?.template?.spec
  if (spec) dropDisabledPodFields(spec, (old as Deployment | undefined)?.spec?.template?.spec)
}

function changedTemplateWarnings(
  object: KubeObject,
  old: KubeObject | undefined,
  { dialect }: StrategyContext,
): string[] {
  if (old !== undefined && old.metadata.generation === object.metadata.generation) return []
  return templateWarnings(object, (object as Deployment).spec?.template, dialect, [
    'spec',
    'template',
  ])
}

/** What Deployments and the other controllers with a template at `spec.template` do alike. */
export const templateHooks = {
  prepareForCreate(object: KubeObject) {
    object['status'] = {}
    dropDisabledTemplateFields(object)
  },
  prepareForUpdate: dropDisabledTemplateFields,
  warnings: changedTemplateWarnings,
  hasGeneration: true,
} satisfies Strategy

export const deploymentStrategy: Strategy = {
  ...templateHooks,
  applyDefaults: defaultDeployment,
  prepareForUpdate(object, old) {
    dropDisabledTemplateFields(object, old)
    const { annotations: now } = object.metadata
    const { annotations: before, generation = 0 } = old.metadata
    // Its ReplicaSets have its annotations, so that a change of these is one of what there should be.
    if (!semanticEqual(now, before)) object.metadata.generation = generation + 1
  },
  validate: validateDeployment,
  validateUpdate: (object, old, context) => [
    ...validateDeployment(object, context),
    ...selectorErrors(object, old),
  ],
  subresources: {
    status: {
      prepareForUpdate(object, old) {
        restoreAllButStatus(object, old)
        const { labels } = old.metadata
        if (labels === undefined) delete object.metadata.labels
        else object.metadata.labels = labels
      },
      validateUpdate(object, old) {
        const at = FieldPath.root().child('status')
        const { status } = object as Deployment
        validateReplicaCounts(status ?? {}, at)
        validateCollisionCount(status, (old as Deployment).status, at)
        return at.errors
      },
    },
  },
}

function validateReplicaSet(object: KubeObject, context: StrategyContext): FieldError[] {
  const root = FieldPath.root()
  const at = root.child('spec')
  const spec = (object as ReplicaSet).spec ?? emptySpec
  validateNonNegativeFields(spec, ['replicas', 'minReadySeconds'], at)
  validateRequiredSelector(spec.selector, at.child('selector'), 'deployment')
  const selector = selectorOf(spec.selector)
  if (selector === undefined) {
    at.child('selector').invalid(goLabelSelector(spec.selector), 'invalid label selector')
  } else {
    const { template } = spec
    validateReplicaTemplate(
      { template, selector, kind: 'ReplicaSet' },
      at.child('template'),
      context,
    )
  }
  return root.errors
}

export const replicaSetStrategy: Strategy = {
  ...templateHooks,
  applyDefaults: defaultReplicaSet,
  prepareForCreate(object) {
    templateHooks.prepareForCreate(object)
    object['status'] = { replicas: 0 }
  },
  validate: validateReplicaSet,
  validateUpdate: (object, old, context) => [
    ...validateReplicaSet(object, context),
    ...selectorErrors(object, old),
  ],
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate(object) {
        const at = FieldPath.root().child('status')
        validateReplicaCounts((object as ReplicaSet).status ?? {}, at)
        return at.errors
      },
    },
  },
}
