/** PriorityLevelConfiguration (upstream: pkg/apis/flowcontrol/validation, pkg/registry/flowcontrol/prioritylevelconfiguration). */
import { mandatoryFlowControl } from '../../../api/bootstrap-policy/flow-control-objects.ts'
import type { PriorityLevelConfiguration } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { keepZeroKey } from '../../../api/conversions/flow-control.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { validation } from '../rules/strategy-checks.ts'
import { validateLimited, validateExempt } from './priority-level-limits.ts'
import { validateMandatory, validateStatus, status } from './flow-object-rules.ts'

const levelTypes = ['Exempt', 'Limited']

function defaultLevel(object: KubeObject): void {
  const { limited, exempt } = (object as PriorityLevelConfiguration).spec ?? {}
  if (exempt) {
    exempt.nominalConcurrencyShares ??= 0
    exempt.lendablePercent ??= 0
  }
  if (!limited) return
  limited.nominalConcurrencyShares ??= 30
  limited.lendablePercent ??= 0
  const { queuing } = limited.limitResponse ?? {}
  if (!queuing) return
  queuing.handSize ||= 8
  queuing.queues ||= 64
  queuing.queueLengthLimit ||= 50
}

function validateLevel(
  object: PriorityLevelConfiguration,
  root: FieldPath,
  { dialect }: StrategyContext,
): void {
  const at = root.child('spec')
  const { metadata, spec } = object
  const key = keepZeroKey(dialect)
  const annotationsAt = root.child('metadata').child('annotations')
  if (metadata.annotations?.[key] !== undefined) {
    annotationsAt.forbidden(`specifying annotation '${key}' is not allowed`)
  }
  const { type = '', limited, exempt } = spec ?? {}
  if ((metadata.name === 'exempt') !== (type === 'Exempt')) {
    at.child('type').invalid(type, "type must be 'Exempt' if and only if name is 'exempt'")
  }
  if (type === 'Exempt') {
    if (limited) at.child('limited').forbidden('must be nil if the type is not Limited')
    if (exempt) validateExempt(exempt, at.child('exempt'))
  } else if (type === 'Limited') {
    if (exempt) at.child('exempt').forbidden('must be nil if the type is Limited')
    if (limited) validateLimited(limited, at.child('limited'))
    else at.child('limited').required('must not be empty when type is Limited')
  } else at.child('type').unsupported(type, levelTypes)
  const free = metadata.name === 'exempt' ? 'exempt' : undefined
  validateMandatory(object, { mandatory: mandatoryFlowControl(dialect).levels, free }, at)
  validateStatus(object, root)
}

export const priorityLevelConfigurationStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults: defaultLevel,
  prepareForCreate(object) {
    object['status'] = {}
  },
  ...validation(validateLevel),
  subresources: { status },
}
