/**
 * The expressions of a MutatingAdmissionPolicy, each compiled with the variables that it sees (upstream: plugin/policy/mutating,
 * compilation.go). Imports the evaluator, which is large: import this module when there is a policy.
 */
import type { MutatingAdmissionPolicySpec, Mutation } from '../../api/mutating-policy.ts'
import { jsonPatchType, objectType } from '../../cel/cel-construct-types.ts'
import { listOf, type CelType } from '../../cel/cel-types.ts'
import { composeVariables, type Compiled } from './composed-variables.ts'

type PatchType = 'ApplyConfiguration' | 'JSONPatch'

interface CompiledMutation {
  readonly patchType: PatchType
  readonly program: Compiled
}

export interface MutationExpressions {
  /** By name, in order. They construct nothing. */
  readonly variables: ReadonlyMap<string, Compiled>
  /** In order, without those that have no expression of their patch type. */
  readonly mutations: readonly CompiledMutation[]
}

const resultTypes: Readonly<Record<PatchType, CelType>> = {
  ApplyConfiguration: objectType(),
  JSONPatch: listOf(jsonPatchType),
}

/** The patch type and expression of a mutation; undefined for one that has none. */
export function patchOf(mutation: Mutation): { type: PatchType; expression: string } | undefined {
  const { patchType: type, applyConfiguration, jsonPatch } = mutation
  if (type !== 'JSONPatch' && type !== 'ApplyConfiguration') return undefined
  const patch = type === 'JSONPatch' ? jsonPatch : applyConfiguration
  return patch === undefined ? undefined : { type, expression: patch.expression ?? '' }
}

/** Compiles every expression. */
export function compileMutations(spec: MutatingAdmissionPolicySpec): MutationExpressions {
  const { variables, compile } = composeVariables(spec)
  return {
    variables,
    mutations: (spec.mutations ?? []).flatMap((mutation) => {
      const patch = patchOf(mutation)
      if (patch === undefined) return []
      const { type, expression } = patch
      const expected = { results: [resultTypes[type]], constructs: true }
      return [{ patchType: type, program: compile(expression.trim(), expected) }]
    }),
  }
}
