/**
 * The expressions of a ValidatingAdmissionPolicy, each compiled with the variables that it sees (upstream: cel/composition.go).
 * Imports the evaluator, which is large: import this module when there is a policy.
 */
import type { ValidatingAdmissionPolicySpec } from '../../api/generated/types.ts'
import { compileCel, type CelProgram } from '../../cel/cel.ts'
import { bool, dyn, nullType, string, type CelType } from '../../cel/cel-types.ts'
import { admissionVariables } from './admission-variables.ts'

/** Either what runs, or why it cannot. */
export type Compiled = CelProgram | Error

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

/** What is known of the objects; without it they may be anything, and what an expression gives is checked. */
export interface KnownTypes {
  readonly object: CelType
  readonly params: CelType | undefined
}

/** Compiles every expression. */
export function compileExpressions(
  spec: ValidatingAdmissionPolicySpec,
  known?: KnownTypes,
): PolicyExpressions {
  const params = Boolean(spec.paramKind)
  const typed: Record<string, CelType> =
    known === undefined
      ? {}
      : {
          object: known.object,
          oldObject: known.object,
          ...(known.params === undefined ? {} : { params: known.params }),
        }
  const plain = { ...admissionVariables({ params, authorizer: false }), ...typed }
  const whole = { ...admissionVariables({ params, authorizer: true }), ...typed }
  // Each variable sees those before it.
  const types: Record<string, CelType> = {}
  const compile = (
    expression: string,
    base: Readonly<Record<string, CelType>>,
    results?: readonly CelType[],
  ): Compiled => {
    const composed: CelType = {
      kind: 'object',
      name: 'kubernetes.variables',
      fields: { ...types },
    }
    const variables = { ...base, variables: composed }
    try {
      const wanted = known === undefined ? results : undefined
      return compileCel(expression, {
        variables,
        ...(wanted === undefined ? {} : { results: wanted }),
      })
    } catch (error) {
      return error as Error
    }
  }
  const variables = new Map<string, Compiled>()
  for (const { name, expression } of spec.variables ?? []) {
    const program = compile(expression, whole)
    variables.set(name, program)
    types[name] = program instanceof Error ? dyn : program.type
  }
  return {
    variables,
    validations: (spec.validations ?? []).map((validation) => ({
      ...validation,
      program: compile(validation.expression, whole, [bool]),
      messageProgram: validation.messageExpression
        ? compile(validation.messageExpression, plain, [string])
        : undefined,
    })),
    annotations: (spec.auditAnnotations ?? []).map((annotation) => ({
      ...annotation,
      program: compile(annotation.valueExpression, whole, [string, nullType]),
    })),
  }
}
