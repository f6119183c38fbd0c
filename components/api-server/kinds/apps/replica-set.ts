/** ReplicaSet (upstream: pkg/apis/apps/validation, pkg/registry/apps/replicaset). */
import type { ReplicaSet } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { validateNonNegativeFields } from '../rules/field-rules.ts'
import {
  validateRequiredSelector,
  selectorOf,
  validateReplicaTemplate,
  goLabelSelector,
  validateReplicaCounts,
} from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultReplicaSet } from '../rules/workload-defaults.ts'
import { emptySpec, templateHooks, validateSameSelector } from './workload-template.ts'

function validateReplicaSet(object: KubeObject, root: FieldPath, context: StrategyContext): void {
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
}

export const replicaSetStrategy: Strategy = {
  ...templateHooks,
  applyDefaults: defaultReplicaSet,
  prepareForCreate(object, context) {
    templateHooks.prepareForCreate(object, context)
    object['status'] = { replicas: 0 }
  },
  ...validation(validateReplicaSet, validateSameSelector),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object }: Change<KubeObject>, root) => {
        const at = root.child('status')
        validateReplicaCounts((object as ReplicaSet).status ?? {}, at)
      }),
    },
  },
}
