/** ReplicationController and PodTemplate, the oldest kinds with a template (upstream: core/validation). */
import type { PodTemplate, ReplicationController } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { labelSelectorOfMap } from '../../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { templateHooks } from '../apps/deployment.ts'
import { validateNonNegativeFields } from '../rules/field-rules.ts'
import { defaultPodTemplate } from './pod/pod-defaults.ts'
import { dropDisabledPodFields } from './pod/pod-features.ts'
import { validatePodTemplate } from './pod/pod-template-validation.ts'
import { templateWarnings } from './pod/pod-warnings.ts'
import { validateReplicaCounts, validateReplicaTemplate } from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultReplicationController } from '../rules/workload-defaults.ts'

function validateController(object: KubeObject, context: StrategyContext): FieldError[] {
  const root = FieldPath.root()
  const at = root.child('spec')
  const { selector = {}, template, ...spec } = (object as ReplicationController).spec ?? {}
  validateNonNegativeFields(spec, ['minReadySeconds'], at)
  if (Object.keys(selector).length === 0) at.child('selector').required()
  validateNonNegativeFields(spec, ['replicas'], at)
  validateReplicaTemplate(
    { template, selector: labelSelectorOfMap(selector), kind: 'ReplicationController' },
    at.child('template'),
    context,
  )
  return root.errors
}

export const replicationControllerStrategy: Strategy = {
  ...templateHooks,
  orphansByDefault: true,
  applyDefaults: defaultReplicationController,
  prepareForCreate(object) {
    templateHooks.prepareForCreate(object)
    object['status'] = { replicas: 0 }
  },
  validate: validateController,
  validateUpdate: (object, _old, context) => validateController(object, context),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate(object) {
        const at = FieldPath.root().child('status')
        validateReplicaCounts((object as ReplicationController).status ?? {}, at)
        return at.errors
      },
    },
  },
}

function validateTemplate(object: KubeObject, context: StrategyContext): FieldError[] {
  const root = FieldPath.root()
  validatePodTemplate((object as PodTemplate).template, root.child('template'), context)
  return root.errors
}

export const podTemplateStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults(object) {
    defaultPodTemplate(((object as PodTemplate).template ??= {}))
  },
  prepareForCreate(object) {
    const { spec } = (object as PodTemplate).template ?? {}
    if (spec) dropDisabledPodFields(spec)
  },
  prepareForUpdate(object, old) {
    const { spec } = (object as PodTemplate).template ?? {}
    if (spec) dropDisabledPodFields(spec, (old as PodTemplate).template?.spec)
  },
  validate: validateTemplate,
  validateUpdate: (object, _old, context) => validateTemplate(object, context),
  warnings: (object, _old, { dialect }) =>
    templateWarnings(object, (object as PodTemplate).template, dialect, ['template']),
}
