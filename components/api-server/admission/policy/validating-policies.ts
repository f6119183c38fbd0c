/**
 * ValidatingAdmissionPolicy: CEL expressions of policies and their bindings validate writes (upstream:
 * plugin/policy/validating). Expressions are compiled when a policy first matches.
 */
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { reasonCodes, StatusError, type Reason } from '../../../machinery/objects/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import { annotate } from '../annotate.ts'
import { exemptPrefixes } from '../exempt-kinds.ts'
import { admissionForbidden } from '../forbid.ts'
import { reviewRequestOf } from '../webhook/admission-review.ts'
import { accessChecksOf, type AccessChecks } from '../expressions/access-checks.ts'
import { admissionValues, type Values } from '../../expressions/admission-variables.ts'
import { inVersionOf, namespaceOf } from '../webhook/reviewed-request.ts'
import type { WebhookDependencies } from '../webhook/webhook-call.ts'
import { refusedBy } from '../../request/refusal.ts'
import { configuredPolicies, matchedBy, type Binding, type Policy } from './configured-policies.ts'
import { policyParams } from './policy-params.ts'
import type { Failure } from './policy-program.ts'

type Dependencies = Omit<WebhookDependencies, 'metrics' | 'log' | 'egress'> & {
  /** The kinds that CustomResourceDefinitions add. */
  readonly customKinds: () => readonly Resource[]
}

/** A validation that failed, with the actions of the binding. */
interface Judged {
  readonly policy: string
  readonly binding: string
  readonly failure: Failure
  readonly actions: readonly string[]
}

/** One request, as every policy judges it. */
interface Review extends Dependencies {
  readonly request: AdmissionRequest
  readonly checks: AccessChecks
}

/** The values of CEL variables in the version that the policy matched. */
async function valuesOf(
  { request, reader, resources, dialect, checks }: Review,
  matched: Resource,
): Promise<Values> {
  const object = await inVersionOf(matched, request, request.object)
  const old = await inVersionOf(matched, request, request.old)
  const review = reviewRequestOf(
    request,
    { matched, object, old, isNameHidden: false },
    { uid: '', dialect },
  )
  const namespace = namespaceOf(request)
  const { namespaces } = resources
  const namespaceObject = namespace === '' ? undefined : reader.get(namespaces, '', namespace)
  return {
    ...admissionValues(review),
    namespaceObject: namespaceObject ?? null,
    ...(await checks.values()),
  }
}

/** The objects with which a binding evaluates its policy, or the failure to find them. */
async function paramsOf(
  policy: Policy,
  { binding, review }: { binding: Binding; review: Review },
): Promise<{ params: readonly (KubeObject | null)[] } | { failure: Failure }> {
  const { request, reader, served, customKinds } = review
  const { paramKind } = policy.spec
  const { paramRef } = binding.spec
  const { namespace } = request
  try {
    const kinds = [...served, ...customKinds()]
    return { params: await policyParams({ paramKind, paramRef, namespace }, { reader, kinds }) }
  } catch (error) {
    const message = `failed to configure binding: ${(error as Error).message}`
    return { failure: { index: 0, message, reason: 'Invalid' } }
  }
}

/** Audit annotations of one policy: by key, the different values that its bindings gave. */
type Annotations = Map<string, Set<string>>

async function judgeByBinding(
  { policy, binding, values }: { policy: Policy; binding: Binding; values: Values },
  { review, annotations }: { review: Review; annotations: Annotations },
): Promise<Judged[]> {
  const whose = { policy: policy.name, binding: binding.name }
  const found = await paramsOf(policy, { binding, review })
  if ('failure' in found) {
    if (policy.spec.failurePolicy === 'Ignore') return []
    return [{ ...whose, failure: found.failure, actions: ['Deny'] }]
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

async function judgeByPolicy(policy: Policy, review: Review): Promise<Judged[]> {
  const { request } = review
  const matched = matchedBy(policy.spec.matchConstraints, review)
  if (matched === undefined) return []
  const bindings = policy.bindings.filter(({ spec }) => matchedBy(spec.matchResources, review))
  if (bindings.length === 0) return []
  await policy.program()
  const values = await valuesOf(review, matched)
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
async function judge(policies: readonly Policy[], review: Review): Promise<void> {
  const { request } = review
  const judged: Judged[] = []
  for (const policy of policies) judged.push(...(await judgeByPolicy(policy, review)))
  warn(judged, request)
  audit(judged, request)
  const denied = judged.find(({ actions }) => actions.includes('Deny'))
  if (denied !== undefined) throw rejectionOf(denied, request)
}

export function validatingPolicies(dependencies: Dependencies): AdmissionPlugin {
  const { resources, authorizer } = dependencies
  const exempt = exemptPrefixes(resources)
  const policiesNow = configuredPolicies(dependencies)
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
