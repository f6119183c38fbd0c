/** ReplicationController (upstream: pkg/apis/core/validation, pkg/registry/core/replicationcontroller). */
import type { ReplicationController } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { labelSelectorOfMap } from '../../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { templateHooks } from '../apps/workload-template.ts'
import { validateNonNegativeFields } from '../rules/field-rules.ts'
import { validateReplicaTemplate, validateReplicaCounts } from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultReplicationController } from '../rules/workload-defaults.ts'

function validateController(object: KubeObject, root: FieldPath, context: StrategyContext): void {
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
}

export const replicationControllerStrategy: Strategy = {
  ...templateHooks,
  orphansByDefault: true,
  applyDefaults: defaultReplicationController,
  prepareForCreate(object, context) {
    templateHooks.prepareForCreate(object, context)
    object['status'] = { replicas: 0 }
  },
  ...validation(validateController),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object }: Change<KubeObject>, root) => {
        const at = root.child('status')
        validateReplicaCounts((object as ReplicationController).status ?? {}, at)
      }),
    },
  },
}
