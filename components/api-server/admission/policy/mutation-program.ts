/** MutationProgram: a MutatingAdmissionPolicy's expressions, compiled once and evaluated for each request. */
import type { MutatingAdmissionPolicySpec } from '../../../api/mutating-policy.ts'
import { inTurns } from '../../../component-base/next-turn.ts'
import { compileConditions } from '../../expressions/conditions.ts'
import type { Values } from '../../expressions/admission-variables.ts'
import type { AccessChecks } from '../expressions/access-checks.ts'
import { policyEvaluator } from './policy-evaluator.ts'

/** What a mutation asks for. */
export type Patch =
  | { readonly type: 'ApplyConfiguration'; readonly config: Readonly<Record<string, unknown>> }
  | { readonly type: 'JSONPatch'; readonly operations: readonly Record<string, unknown>[] }

export interface MutationProgram {
  /** Whether the match conditions match the request. Rejects with the error of one that fails. */
  matches(values: Values, checks: AccessChecks): Promise<boolean>
  /** One for each mutation, in order. Each evaluates the variables that it reads anew, and rejects when an expression fails. */
  readonly mutations: readonly ((values: Values, checks: AccessChecks) => Promise<Patch>)[]
}

/** Compiles the expressions. One that cannot be compiled fails each time it is evaluated. */
export async function compileMutatingPolicy(
  spec: MutatingAdmissionPolicySpec,
): Promise<MutationProgram> {
  const { compileMutations } = await import('../../expressions/mutation-expressions.ts')
  const { applyConfigurationOf, jsonPatchOf } = await import('../../../cel/cel-constructed.ts')
  const { variables, mutations } = compileMutations(spec)
  const conditions = await compileConditions(spec.matchConditions ?? [], Boolean(spec.paramKind))
  return {
    async matches(values, checks) {
      const seen = { ...values, namespaceObject: null }
      const holds = await inTurns(conditions(seen, checks.answer))
      if (holds instanceof Error) throw holds
      return holds
    },
    mutations: mutations.map(({ patchType, program }) => async (values, checks) => {
      const result = await inTurns(policyEvaluator(variables, { values, checks }).typed(program))
      return patchType === 'JSONPatch'
        ? { type: patchType, operations: jsonPatchOf(result) }
        : { type: patchType, config: applyConfigurationOf(result) }
    }),
  }
}
