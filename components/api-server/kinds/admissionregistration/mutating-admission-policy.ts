/** MutatingAdmissionPolicy (upstream: pkg/apis/admissionregistration/validation; KEP-3962). */
import type { MatchResources } from '../../../api/generated/types.ts'
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicySpec,
  Mutation,
} from '../../../api/mutating-policy.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateOneOf, validateRequiredOneOf } from '../rules/field-rules.ts'
import { validation } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { defaultPolicy } from './admission-rules.ts'
import { validatePolicyFrame } from './policy-frame.ts'

const reinvocationPolicies = ['Never', 'IfNeeded']
const patchTypes = ['ApplyConfiguration', 'JSONPatch']
/** A request to delete brings no object that could be changed. */
const mutableOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE']

/** The rules of mutating policies and of their bindings match no DELETE. */
export function validateMutableOperations(match: MatchResources, at: FieldPath): void {
  // As upstream, the path names no rule.
  const operationsAt = at.child('resourceRules').child('operations')
  for (const { operations = [] } of match.resourceRules ?? []) {
    for (const operation of operations) validateOneOf(operation, mutableOperations, operationsAt)
  }
}

function validatePatch(patch: { expression?: string }, at: FieldPath): void {
  if (!patch.expression?.trim()) at.child('expression').required()
}

function validateMutation(mutation: Mutation, at: FieldPath): void {
  const { patchType, applyConfiguration, jsonPatch } = mutation
  validateRequiredOneOf(patchType, patchTypes, at.child('patchType'))
  const [applyAt, jsonAt] = [at.child('applyConfiguration'), at.child('jsonPatch')]
  const [only, not] = [`must be specified when patchType is ${patchType}`, 'must not be specified']
  if (patchType === 'JSONPatch') {
    if (jsonPatch === undefined) jsonAt.required(only)
    else validatePatch(jsonPatch, jsonAt)
    if (applyConfiguration !== undefined) {
      applyAt.invalid('{applyConfiguration}', `${not} when patchType is JSONPatch`)
    }
  } else if (patchType === 'ApplyConfiguration') {
    if (applyConfiguration === undefined) applyAt.required(only)
    else validatePatch(applyConfiguration, applyAt)
    if (jsonPatch !== undefined) {
      jsonAt.invalid('{jsonPatch}', `${not} when patchType is ApplyConfiguration`)
    }
  }
}

type ReportFaults = (spec: MutatingAdmissionPolicySpec, at: FieldPath) => void

function validatePolicy(
  { spec = {} }: MutatingAdmissionPolicy,
  at: FieldPath,
  reportFaults: ReportFaults,
): void {
  validatePolicyFrame(spec, at)
  if (spec.matchConstraints) {
    validateMutableOperations(spec.matchConstraints, at.child('matchConstraints'))
  }
  const mutations = spec.mutations ?? []
  if (mutations.length === 0) {
    at.child('mutations').required('mutations must contain at least one item')
  }
  for (const [i, mutation] of mutations.entries()) {
    validateMutation(mutation, at.child('mutations').index(i))
  }
  const policyAt = at.child('reinvocationPolicy')
  validateRequiredOneOf(spec.reinvocationPolicy, reinvocationPolicies, policyAt)
  reportFaults(spec, at)
}

export const mutatingAdmissionPolicyStrategy: Strategy = {
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults: defaultPolicy,
  async load() {
    const { reportMutationFaults } = await import('../../expressions/expression-faults.ts')
    return {
      ...mutatingAdmissionPolicyStrategy,
      ...validation((policy: MutatingAdmissionPolicy, root) => {
        validatePolicy(policy, root.child('spec'), reportMutationFaults)
      }),
    }
  },
}
