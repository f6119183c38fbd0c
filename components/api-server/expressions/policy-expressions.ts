/**
 * The expressions of a ValidatingAdmissionPolicy, each compiled with the variables that it sees. Imports the evaluator, which is
 * large: import this module when there is a policy.
 */
import type { ValidatingAdmissionPolicySpec } from '../../api/generated/types.ts'
import { bool, nullType, string } from '../../cel/cel-types.ts'
import { composeVariables, type Compiled, type KnownTypes } from './composed-variables.ts'

type Of<Item> = Item & { readonly program: Compiled }

export interface PolicyExpressions {
  /** By name, in order. */
  readonly variables: ReadonlyMap<string, Compiled>
  readonly validations: readonly Of<
    NonNullable<ValidatingAdmissionPolicySpec['validations']>[number] & {
      readonly messageProgram: Compiled | undefined
    }
  >[]
  readonly annotations: readonly Of<
    NonNullable<ValidatingAdmissionPolicySpec['auditAnnotations']>[number]
  >[]
}

/** Compiles every expression. */
export function compileExpressions(
  spec: ValidatingAdmissionPolicySpec,
  known?: KnownTypes,
): PolicyExpressions {
  const { variables, compile } = composeVariables(spec, known)
  return {
    variables,
    validations: (spec.validations ?? []).map((validation) => ({
      ...validation,
      program: compile(validation.expression, { results: [bool] }),
      messageProgram: validation.messageExpression
        ? compile(validation.messageExpression, { results: [string], authorizer: false })
        : undefined,
    })),
    annotations: (spec.auditAnnotations ?? []).map((annotation) => ({
      ...annotation,
      program: compile(annotation.valueExpression, { results: [string, nullType] }),
    })),
  }
}
