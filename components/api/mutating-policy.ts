/** MutatingAdmissionPolicy and its binding as types: `generated/types.ts` has released versions alone, and these are alpha. */
import type {
  MatchCondition,
  MatchResources,
  ObjectMeta,
  ParamKind,
  ParamRef,
  Variable,
} from './generated/types.ts'

/** One change: by `patchType`, either of the two has its expression. */
export interface Mutation {
  patchType?: string
  applyConfiguration?: { expression?: string }
  jsonPatch?: { expression?: string }
}

export interface MutatingAdmissionPolicySpec {
  paramKind?: ParamKind
  matchConstraints?: MatchResources
  variables?: Variable[]
  mutations?: Mutation[]
  failurePolicy?: string
  matchConditions?: MatchCondition[]
  reinvocationPolicy?: string
}

export interface MutatingAdmissionPolicy {
  kind?: string
  apiVersion?: string
  metadata: ObjectMeta
  spec?: MutatingAdmissionPolicySpec
}

export interface MutatingAdmissionPolicyBinding {
  kind?: string
  apiVersion?: string
  metadata: ObjectMeta
  spec?: { policyName?: string; paramRef?: ParamRef; matchResources?: MatchResources }
}
