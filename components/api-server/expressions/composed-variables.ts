/**
 * The variables of an admission policy, and the compilation of the expressions that see them (upstream: admission/plugin/cel,
 * composition.go). Imports the evaluator, which is large: import this module when there is a policy.
 */
import type { ParamKind, Variable } from '../../api/generated/types.ts'
import { compileCel, type CelProgram } from '../../cel/cel.ts'
import { dyn, type CelType } from '../../cel/cel-types.ts'
import { admissionVariables } from './admission-variables.ts'

/** Either what runs, or why it cannot. */
export type Compiled = CelProgram | Error

/** What is known of the objects; without it they may be anything, and what an expression gives is checked. */
export interface KnownTypes {
  readonly object: CelType
  readonly params: CelType | undefined
}

export interface Expected {
  /** The types of its result; unset: any. */
  readonly results?: readonly CelType[]
  /** Default: it sees `authorizer`. */
  readonly authorizer?: boolean
  /** Whether it constructs objects and patches. */
  readonly constructs?: boolean
}

export interface Composition {
  /** By name, in order. */
  readonly variables: ReadonlyMap<string, Compiled>
  /** Compiles an expression that sees the variables. */
  readonly compile: (expression: string, expected?: Expected) => Compiled
}

interface ComposedSpec {
  readonly paramKind?: ParamKind
  readonly variables?: readonly Variable[]
}

/** Compiles the variables. */
export function composeVariables(spec: ComposedSpec, known?: KnownTypes): Composition {
  const params = Boolean(spec.paramKind)
  const typed: Record<string, CelType> =
    known === undefined
      ? {}
      : {
          object: known.object,
          oldObject: known.object,
          ...(known.params === undefined ? {} : { params: known.params }),
        }
  const base = {
    true: { ...admissionVariables({ params, authorizer: true }), ...typed },
    false: { ...admissionVariables({ params, authorizer: false }), ...typed },
  }
  // Each variable sees those before it.
  const types: Record<string, CelType> = {}
  const compile = (expression: string, expected: Expected = {}): Compiled => {
    const { results, authorizer = true, constructs = false } = expected
    const variables: CelType = {
      kind: 'object',
      name: 'kubernetes.variables',
      fields: { ...types },
    }
    try {
      const wanted = known === undefined ? results : undefined
      return compileCel(expression, {
        variables: { ...base[`${authorizer}`], variables },
        constructs,
        namesResult: true,
        ...(wanted === undefined ? {} : { results: wanted }),
      })
    } catch (error) {
      return error as Error
    }
  }
  const variables = new Map<string, Compiled>()
  for (const { name, expression } of spec.variables ?? []) {
    const program = compile(expression)
    variables.set(name, program)
    types[name] = program instanceof Error ? dyn : program.type
  }
  return { variables, compile }
}
