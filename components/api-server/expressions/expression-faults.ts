/**
 * Faults of expressions in objects that are written: an expression that does not compile is reported at its field (upstream:
 * admissionregistration/validation). Imports the evaluator, which is large: import this module when an object has expressions.
 */
import type { MatchCondition, ValidatingAdmissionPolicySpec } from '../../api/generated/types.ts'
import type { MutatingAdmissionPolicySpec } from '../../api/mutating-policy.ts'
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { compileCel } from '../../cel/cel.ts'
import { bool } from '../../cel/cel-types.ts'
import type { Compiled } from './composed-variables.ts'
import { compileMutations, patchOf } from './mutation-expressions.ts'
import { compileExpressions } from './policy-expressions.ts'
import { admissionVariables } from './admission-variables.ts'

function report(expression: string, program: Compiled | undefined, at: FieldPath): void {
  if (expression.trim() === '' || !(program instanceof Error)) return
  at.invalid(expression, program.message)
}

export function reportConditionFaults(
  conditions: readonly MatchCondition[],
  at: FieldPath,
  hasParams = false,
): void {
  const variables = admissionVariables({ params: hasParams, authorizer: true })
  for (const [i, { expression = '' }] of conditions.entries()) {
    if (expression.trim() === '') continue
    try {
      compileCel(expression.trim(), { variables, results: [bool], namesResult: true })
    } catch (error) {
      at.index(i)
        .child('expression')
        .invalid(expression.trim(), (error as Error).message)
    }
  }
}

function reportVariableFaults(
  spec: Pick<ValidatingAdmissionPolicySpec, 'variables'>,
  variables: ReadonlyMap<string, Compiled>,
  at: FieldPath,
): void {
  for (const [i, { name, expression = '' }] of (spec.variables ?? []).entries()) {
    report(expression, variables.get(name), at.child('variables').index(i).child('expression'))
  }
}

export function reportPolicyFaults(spec: ValidatingAdmissionPolicySpec, at: FieldPath): void {
  reportConditionFaults(
    spec.matchConditions ?? [],
    at.child('matchConditions'),
    Boolean(spec.paramKind),
  )
  const { variables, validations, annotations } = compileExpressions(spec)
  reportVariableFaults(spec, variables, at)
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

export function reportMutationFaults(spec: MutatingAdmissionPolicySpec, at: FieldPath): void {
  const hasParams = Boolean(spec.paramKind)
  reportConditionFaults(spec.matchConditions ?? [], at.child('matchConditions'), hasParams)
  const { variables, mutations } = compileMutations(spec)
  reportVariableFaults(spec, variables, at)
  const places = (spec.mutations ?? []).flatMap((mutation, i) => {
    const patch = patchOf(mutation)
    return patch === undefined ? [] : [{ i, patch }]
  })
  for (const [order, { i, patch }] of places.entries()) {
    const field = patch.type === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration'
    const own = at.child('mutations').index(i).child(field).child('expression')
    report(patch.expression.trim(), mutations[order]?.program, own)
  }
}
