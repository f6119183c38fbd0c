/** Expressions are compiled when they are written: what cannot be is refused at its place (upstream: admissionregistration/validation). */
import type { MatchCondition, ValidatingAdmissionPolicySpec } from '../../api/generated/types.ts'
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { bool } from '../cel/cel-types.ts'
import { compileExpressions, type Compiled } from './policy-expressions.ts'
import { admissionVariables } from './admission-variables.ts'
import { celModule, loadCel } from './cel-module.ts'

function report(expression: string, program: Compiled | undefined, at: FieldPath): void {
  if (expression.trim() === '' || !(program instanceof Error)) return
  at.invalid(expression, program.message)
}

/** To be awaited before faults are reported. */
export async function loadEvaluator(): Promise<void> {
  await loadCel()
}

/** `loadEvaluator` has been awaited. */
export function reportConditionFaults(
  conditions: readonly MatchCondition[],
  at: FieldPath,
  hasParams = false,
): void {
  const { compileCel } = celModule()
  const variables = admissionVariables({ params: hasParams, authorizer: true })
  for (const [i, { expression = '' }] of conditions.entries()) {
    if (expression.trim() === '') continue
    try {
      compileCel(expression.trim(), { variables, results: [bool] })
    } catch (error) {
      at.index(i)
        .child('expression')
        .invalid(expression.trim(), (error as Error).message)
    }
  }
}

/** `loadEvaluator` has been awaited. */
export function reportPolicyFaults(spec: ValidatingAdmissionPolicySpec, at: FieldPath): void {
  reportConditionFaults(
    spec.matchConditions ?? [],
    at.child('matchConditions'),
    Boolean(spec.paramKind),
  )
  const { variables, validations, annotations } = compileExpressions(spec)
  for (const [i, { name, expression = '' }] of (spec.variables ?? []).entries()) {
    report(expression, variables.get(name), at.child('variables').index(i).child('expression'))
  }
  for (const [i, { expression = '', program, ...message }] of validations.entries()) {
    const own = at.child('validations').index(i)
    report(expression, program, own.child('expression'))
    const { messageExpression = '', messageProgram } = message
    report(messageExpression, messageProgram, own.child('messageExpression'))
  }
  for (const [i, { valueExpression = '', program }] of annotations.entries()) {
    const own = at.child('auditAnnotations').index(i).child('valueExpression')
    report(valueExpression.trim(), program, own)
  }
}
