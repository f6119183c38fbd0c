/** FlowSchema and PriorityLevelConfiguration (upstream: pkg/apis/flowcontrol). */
import { mandatoryFlowControl } from '../../../api/bootstrap-policy/flow-control-objects.ts'
import type { FlowSchema, PriorityLevelConfiguration } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import { keepZeroKey } from '../../../api/conversions/flow-control.ts'
import type { Strategy, StrategyContext, SubresourceStrategy } from '../strategy.ts'
import { goJson, semanticEqual, validateSubdomain } from '../rules/field-rules.ts'
import { validateFlowRule } from './flow-rules.ts'
import { validateExempt, validateLimited } from './priority-level-limits.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'

const maxPrecedence = 10_000
const distinguishers = ['ByNamespace', 'ByUser']
const levelTypes = ['Exempt', 'Limited']

function validateStatus(object: KubeObject): FieldError[] {
  const at = FieldPath.root('status').child('conditions')
  const conditions = (object as FlowSchema).status?.conditions ?? []
  for (const [i, { type }] of conditions.entries()) {
    const isRepeated = conditions.findIndex((other) => other.type === type) < i
    if (isRepeated) at.index(i).child('type').duplicate(type)
    if (!type) at.index(i).child('type').required('must not be empty')
  }
  return at.errors
}

const status: SubresourceStrategy = {
  prepareForUpdate: restoreAllButStatus,
  validateUpdate: validateStatus,
}

/** Objects that keep the server usable have a spec that nobody changes. `free` is the field that may differ. */
function validateMandatory(
  object: KubeObject,
  mandatory: readonly KubeObject[],
  free?: string,
): FieldError[] {
  const at = FieldPath.root('spec')
  const name = object.metadata.name ?? ''
  const fixed = mandatory.find(({ metadata }) => metadata.name === name)
  const without = (spec: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(spec).filter(([field]) => field !== free))
  const spec = (object['spec'] ?? {}) as Record<string, unknown>
  if (fixed === undefined) return []
  if (!semanticEqual(without(spec), without(fixed['spec'] as Record<string, unknown>))) {
    const exception = free === undefined ? '' : ` except the 'spec.${free}' field`
    at.invalid(goJson(spec), `spec of '${name}'${exception} must equal the fixed value`)
  }
  return at.errors
}

function validateSchema(object: KubeObject, { dialect }: StrategyContext): FieldError[] {
  const at = FieldPath.root('spec')
  const { metadata, spec } = object as FlowSchema
  const precedenceAt = at.child('matchingPrecedence')
  const { matchingPrecedence: precedence = 0, distinguisherMethod, rules } = spec ?? {}
  if (precedence <= 0) precedenceAt.invalid(precedence, 'must be a positive value')
  if (precedence > maxPrecedence) {
    precedenceAt.invalid(precedence, `must not be greater than ${maxPrecedence}`)
  }
  if (precedence === 1 && metadata.name !== 'exempt') {
    const why = "only the schema named 'exempt' may have matchingPrecedence 1"
    precedenceAt.invalid(precedence, why)
  }
  if (distinguisherMethod && !distinguishers.includes(distinguisherMethod.type)) {
    const typeAt = at.child('distinguisherMethod').child('type')
    typeAt.unsupported(goJson(distinguisherMethod), distinguishers)
  }
  const level = spec?.priorityLevelConfiguration?.name
  const levelAt = at.child('priorityLevelConfiguration').child('name')
  if (level) validateSubdomain(level, levelAt)
  else levelAt.required('must reference a priority level')
  for (const [i, rule] of (rules ?? []).entries())
    validateFlowRule(rule, at.child('rules').index(i))
  return [
    ...at.errors,
    ...validateMandatory(object, mandatoryFlowControl(dialect).schemas),
    ...validateStatus(object),
  ]
}

export const flowSchemaStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults(object) {
    const { spec } = object as FlowSchema
    if (spec) spec.matchingPrecedence ||= 1000
  },
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate: validateSchema,
  validateUpdate: (object, _old, context) => validateSchema(object, context),
  subresources: { status },
}

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

function validateLevel(object: KubeObject, { dialect }: StrategyContext): FieldError[] {
  const at = FieldPath.root('spec')
  const { metadata, spec } = object as PriorityLevelConfiguration
  const key = keepZeroKey(dialect)
  const annotationsAt = FieldPath.root('metadata').child('annotations')
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
  return [
    ...annotationsAt.errors,
    ...at.errors,
    ...validateMandatory(object, mandatoryFlowControl(dialect).levels, free),
    ...validateStatus(object),
  ]
}

export const priorityLevelConfigurationStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults: defaultLevel,
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate: validateLevel,
  validateUpdate: (object, _old, context) => validateLevel(object, context),
  subresources: { status },
}
