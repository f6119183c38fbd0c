/** FlowSchema (upstream: pkg/apis/flowcontrol/validation, pkg/registry/flowcontrol/flowschema). */
import { mandatoryFlowControl } from '../../../api/bootstrap-policy/flow-control-objects.ts'
import type { FlowSchema } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { goQuote, GoText } from '../../../machinery/values/go-syntax.ts'
import { validateSubdomain } from '../rules/field-rules.ts'
import { validation } from '../rules/strategy-checks.ts'
import { validateFlowRule } from './flow-rules.ts'
import { validateMandatory, validateStatus, status } from './flow-object-rules.ts'

const maxPrecedence = 10_000

const distinguishers = ['ByNamespace', 'ByUser']

function validateSchema(object: FlowSchema, root: FieldPath, { dialect }: StrategyContext): void {
  const at = root.child('spec')
  const { metadata, spec } = object
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
    const shown = `flowcontrol.FlowDistinguisherMethod{Type:${goQuote(distinguisherMethod.type)}}`
    typeAt.unsupported(new GoText(shown), distinguishers)
  }
  const level = spec?.priorityLevelConfiguration?.name
  const levelAt = at.child('priorityLevelConfiguration').child('name')
  if (level) validateSubdomain(level, levelAt)
  else levelAt.required('must reference a priority level')
  for (const [i, rule] of (rules ?? []).entries())
    validateFlowRule(rule, at.child('rules').index(i))
  validateMandatory(object, { mandatory: mandatoryFlowControl(dialect).schemas }, at)
  validateStatus(object, root)
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
  ...validation(validateSchema),
  subresources: { status },
}
