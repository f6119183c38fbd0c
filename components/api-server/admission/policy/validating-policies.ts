/**
 * ValidatingAdmissionPolicy: CEL expressions of policies and their bindings validate writes (upstream:
 * plugin/policy/validating). Expressions are compiled when a policy first matches.
 */
import type { ValidatingAdmissionPolicySpec } from '../../../api/generated/types.ts'
import { reasonCodes, StatusError, type Reason } from '../../../machinery/objects/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import { annotate } from '../annotate.ts'
import { policyExemptPrefixes } from '../exempt-kinds.ts'
import { admissionForbidden } from '../forbid.ts'
import { accessChecksOf } from '../expressions/access-checks.ts'
import type { Values } from '../../expressions/admission-variables.ts'
import { inVersionOf } from '../webhook/reviewed-request.ts'
import { refusedBy } from '../../request/refusal.ts'
import { configuredPolicies, matchedBy, type Binding, type Policy } from './configured-policies.ts'
import { compilePolicy, type Failure, type PolicyProgram } from './policy-program.ts'
import {
  paramsOf,
  policyValues,
  type PolicyDependencies,
  type PolicyReview,
} from './policy-review.ts'

type ValidatingPolicy = Policy<ValidatingAdmissionPolicySpec, PolicyProgram>

/** A validation that failed, with the actions of the binding. */
interface Judged {
  readonly policy: string
  readonly binding: string
  readonly failure: Failure
  readonly actions: readonly string[]
}

/** Audit annotations of one policy: by key, the different values that its bindings gave. */
type Annotations = Map<string, Set<string>>

async function judgeByBinding(
  { policy, binding, values }: { policy: ValidatingPolicy; binding: Binding; values: Values },
  { review, annotations }: { review: PolicyReview; annotations: Annotations },
): Promise<Judged[]> {
  const whose = { policy: policy.name, binding: binding.name }
  const found = await paramsOf(policy.spec.paramKind, { binding, review })
  if ('fault' in found) {
    if (policy.spec.failurePolicy === 'Ignore') return []
    const failure = { index: 0, message: found.fault, reason: 'Invalid' }
    return [{ ...whose, failure, actions: ['Deny'] }]
  }
  const program = await policy.program()
  const actions = binding.spec.validationActions ?? []
  const judged: Judged[] = []
  for (const param of found.params) {
    const outcome = await program.evaluate({ ...values, params: param }, review.checks)
    for (const failure of outcome?.failures ?? []) judged.push({ ...whose, failure, actions })
    for (const [key, value] of outcome?.annotations ?? []) {
      const texts = annotations.get(key) ?? new Set()
      annotations.set(key, texts.add(value))
    }
  }
  return judged
}

async function judgeByPolicy(policy: ValidatingPolicy, review: PolicyReview): Promise<Judged[]> {
  const { request } = review
  const matched = matchedBy(policy.spec.matchConstraints, review)
  if (matched === undefined) return []
  const bindings = policy.bindings.filter(({ spec }) => matchedBy(spec.matchResources, review))
  if (bindings.length === 0) return []
  await policy.program()
  const object = await inVersionOf(matched, request, request.object)
  const values = await policyValues(review, { matched, object, isNameHidden: false })
  const judged: Judged[] = []
  const annotations: Annotations = new Map()
  for (const binding of bindings) {
    judged.push(...(await judgeByBinding({ policy, binding, values }, { review, annotations })))
  }
  for (const [key, texts] of annotations) {
    annotate(request, `/${policy.name}/${key}`, [...texts].join(', '))
  }
  return judged
}

/** Failures of bindings that warn become warnings of the response. */
function warn(judged: readonly Judged[], request: AdmissionRequest): void {
  for (const { policy, binding, failure, actions } of judged) {
    if (!actions.includes('Warn')) continue
    request.warnings.push(
      `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${failure.message}`,
    )
  }
}

/** Failures of bindings that audit become one annotation of the audit record. */
function audit(judged: readonly Judged[], request: AdmissionRequest): void {
  const noted = judged
    .filter(({ actions }) => actions.includes('Audit'))
    .map(({ policy, binding, failure, actions }) => ({
      message: failure.message,
      policy,
      binding,
      expressionIndex: failure.index,
      validationActions: actions,
    }))
  if (noted.length > 0) {
    annotate(request, 'validation.policy.admission/validation_failure', JSON.stringify(noted))
  }
}

function rejectionOf({ policy, binding, failure }: Judged, request: AdmissionRequest): StatusError {
  const what = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${failure.message}`
  const { message, details } = admissionForbidden(request, what)
  const reason = failure.reason as Reason
  const error = new StatusError(reason, message, {
    code: reasonCodes[reason] ?? reasonCodes.Invalid,
    details: { ...details, causes: [{ message: what }] },
  })
  return refusedBy(error, { policy, binding })
}

/** Evaluates every policy, then warns, audits and denies. The first failure of a binding that denies rejects the request. */
async function judge(policies: readonly ValidatingPolicy[], review: PolicyReview): Promise<void> {
  const { request } = review
  const judged: Judged[] = []
  for (const policy of policies) judged.push(...(await judgeByPolicy(policy, review)))
  warn(judged, request)
  audit(judged, request)
  const denied = judged.find(({ actions }) => actions.includes('Deny'))
  if (denied !== undefined) throw rejectionOf(denied, request)
}

export function validatingPolicies(dependencies: PolicyDependencies): AdmissionPlugin {
  const { reader, resources, authorizer } = dependencies
  const exempt = policyExemptPrefixes(resources)
  const policiesNow = configuredPolicies({
    reader,
    policies: resources.validatingAdmissionPolicies,
    bindings: resources.validatingAdmissionPolicyBindings,
    compile: compilePolicy,
  })
  return {
    name: 'ValidatingAdmissionPolicy',
    validate(request) {
      const policies = policiesNow()
      if (policies.length === 0 || exempt.has(request.resource.storagePrefix)) return undefined
      // As with webhooks, policies do not judge what the server needs to start.
      if (request.context === undefined) return undefined
      const checks = accessChecksOf(request, authorizer)
      return judge(policies, { ...dependencies, request, checks })
    },
  }
}
