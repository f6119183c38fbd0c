/**
 * MutatingAdmissionPolicy: CEL expressions of policies and their bindings change writes, before webhooks do (upstream:
 * plugin/policy/mutating; KEP-3962). Behind its gate, and only where its API is served.
 */
import type { FeatureGates } from '../../../api/feature-gates.ts'
import type { MutatingAdmissionPolicySpec } from '../../../api/mutating-policy.ts'
import { nextTurn } from '../../../component-base/next-turn.ts'
import { copyJson } from '../../../machinery/values/json-copy.ts'
import { deepEqual, type KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { notFound, StatusError, type Reason } from '../../../machinery/objects/status-error.ts'
import type { Values } from '../../expressions/admission-variables.ts'
import { refusedBy } from '../../request/refusal.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import { policyExemptPrefixes } from '../exempt-kinds.ts'
import { accessChecksOf } from '../expressions/access-checks.ts'
import { admissionForbidden } from '../forbid.ts'
import { beginRound, endRound, isLeftOut, noteChange, roundsOf } from '../reinvocation.ts'
import { draftInVersionOf } from '../webhook/reviewed-request.ts'
import { configuredPolicies, matchedBy, type Binding, type Policy } from './configured-policies.ts'
import { compileMutatingPolicy, type MutationProgram } from './mutation-program.ts'
import { patchDraft } from './patched-draft.ts'
import {
  paramsOf,
  policyValues,
  type PolicyDependencies,
  type PolicyReview,
} from './policy-review.ts'

type MutatingPolicy = Policy<MutatingAdmissionPolicySpec, MutationProgram>

/** A policy to apply with one binding and one parameter object, in the version that it matched. */
interface Invocation {
  readonly policy: MutatingPolicy
  readonly binding: Binding
  readonly param: KubeObject | null
  readonly matched: Resource
}

/** One may show a whole path or type name. */
const longestMessage = 10 * 1024
const mostCauses = 100
/** Others have a turn after so many. */
const invocationsInTurn = 8

/** Why a policy cannot be applied. */
interface PolicyFault {
  readonly policy: MutatingPolicy
  readonly binding: Binding | undefined
  readonly message: string
  readonly reason: Reason
}

interface Collected {
  readonly invocations: readonly Invocation[]
  readonly faults: readonly PolicyFault[]
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

async function invocationsOfBinding(
  { policy, matched }: { policy: MutatingPolicy; matched: Resource },
  { binding, review }: { binding: Binding; review: PolicyReview },
): Promise<Collected> {
  const fault = (message: string): Collected => ({
    invocations: [],
    faults: [{ policy, binding, message, reason: 'Forbidden' }],
  })
  try {
    if (!matchedBy(binding.spec.matchResources, review)) return { invocations: [], faults: [] }
  } catch (error) {
    return fault(`failed to configure binding: ${textOf(error)}`)
  }
  const found = await paramsOf(policy.spec.paramKind, { binding, review })
  if ('fault' in found) return fault(found.fault)
  const invocations = found.params.map((param) => ({ policy, binding, param, matched }))
  return { invocations, faults: [] }
}

/** What applies to the request as it comes; only match conditions look at what earlier policies made of it. */
async function collect(
  policies: readonly MutatingPolicy[],
  review: PolicyReview,
): Promise<Collected> {
  const invocations: Invocation[] = []
  const faults: PolicyFault[] = []
  for (const policy of policies) {
    let matched: Resource | undefined
    try {
      matched = matchedBy(policy.spec.matchConstraints, review)
    } catch (error) {
      const message = `failed to configure policy: ${textOf(error)}`
      faults.push({ policy, binding: undefined, message, reason: 'Forbidden' })
    }
    if (matched === undefined) continue
    for (const binding of policy.bindings) {
      const found = await invocationsOfBinding({ policy, matched }, { binding, review })
      invocations.push(...found.invocations)
      faults.push(...found.faults)
    }
  }
  return { invocations, faults }
}

/** The draft that expressions see now, and the values of their variables. */
async function seenBy(
  { param, matched }: Invocation,
  review: PolicyReview,
): Promise<{ object: KubeObject | undefined; values: Values }> {
  const { request, resources } = review
  const shown = await draftInVersionOf(matched, request)
  const values = await policyValues(review, { matched, ...shown })
  const isNamespace = request.resource.storagePrefix === resources.namespaces.storagePrefix
  const own = isNamespace ? { namespaceObject: null } : {}
  return { object: shown.object, values: { ...values, ...own, params: param } }
}

/** Applies the mutations in order; a later one sees what the earlier ones made. True when one of them could be applied. */
async function mutate(
  invocation: Invocation,
  { review, faults }: { review: PolicyReview; faults: PolicyFault[] },
): Promise<boolean> {
  const { policy, binding, matched } = invocation
  const { request, checks } = review
  let isApplied = false
  for (const evaluate of (await policy.program()).mutations) {
    const { object, values } = await seenBy(invocation, review)
    if (object === undefined) continue
    try {
      await patchDraft(await evaluate(values, checks), { request, matched, object })
      isApplied = true
    } catch (error) {
      if (error instanceof StatusError) {
        throw refusedBy(error, { policy: policy.name, binding: binding.name })
      }
      faults.push({ policy, binding, message: textOf(error), reason: 'Invalid' })
    }
  }
  return isApplied
}

/** True when the match conditions hold. A condition that fails is a fault. */
async function isMatched(
  invocation: Invocation,
  { review, faults }: { review: PolicyReview; faults: PolicyFault[] },
): Promise<boolean> {
  const { policy, binding } = invocation
  if (!policy.spec.matchConditions?.length) return true
  const { values } = await seenBy(invocation, review)
  try {
    return await (await policy.program()).matches(values, review.checks)
  } catch (error) {
    faults.push({ policy, binding, message: textOf(error), reason: 'Invalid' })
    return false
  }
}

function idOf({ policy, binding, param }: Invocation): string {
  const { namespace = '', name = '' } = param?.metadata ?? {}
  return JSON.stringify([policy.name, binding.name, namespace, name])
}

/** Applies what is to be applied in this round. */
async function applyAll(
  invocations: readonly Invocation[],
  at: { review: PolicyReview; faults: PolicyFault[] },
): Promise<void> {
  const { request } = at.review
  const rounds = roundsOf(request)
  const { policies: own } = rounds
  beginRound(own, request)
  let isApplied = false
  for (const [index, invocation] of invocations.entries()) {
    if (index % invocationsInTurn === invocationsInTurn - 1) await nextTurn()
    if (!(await isMatched(invocation, at))) continue
    const id = idOf(invocation)
    if (isLeftOut(own, request, id)) continue
    const before = copyJson(request.object)
    isApplied = (await mutate(invocation, at)) || isApplied
    if (!deepEqual(before, request.object)) {
      rounds.isRewritten = true
      noteChange(own, request)
    }
    if (invocation.policy.spec.reinvocationPolicy === 'IfNeeded') own.asked.add(id)
  }
  // As upstream, policies that ask run again once any was applied, even if nothing changed.
  if (isApplied) noteChange(own, request)
  endRound(own, request)
}

function faultText({ policy, binding, message }: PolicyFault): string {
  const text = message.slice(0, longestMessage)
  return binding === undefined
    ? `policy "${policy.name}" denied request: ${text}`
    : `policy '${policy.name}' with binding '${binding.name}' denied request: ${text}`
}

/** As upstream, the code is 403 whatever the reason. */
function rejectionOf(
  first: PolicyFault,
  at: { faults: readonly PolicyFault[]; request: AdmissionRequest },
): StatusError {
  const { policy, binding, reason } = first
  const { details } = admissionForbidden(at.request, '')
  const causes = at.faults.slice(0, mostCauses).map((fault) => ({ message: faultText(fault) }))
  const error = new StatusError(reason, faultText(first), {
    code: 403,
    details: { ...details, causes },
  })
  return refusedBy(error, {
    policy: policy.name,
    ...(binding === undefined ? {} : { binding: binding.name }),
  })
}

async function admit(policies: readonly MutatingPolicy[], review: PolicyReview): Promise<void> {
  const { request, reader, resources } = review
  const collected = await collect(policies, review)
  const faults = [...collected.faults]
  if (collected.invocations.length > 0) {
    const { namespace } = request
    const { namespaces } = resources
    const isNamespaced = namespace !== '' && request.resource !== namespaces
    if (isNamespaced && reader.get(namespaces, '', namespace) === undefined) {
      throw notFound(namespaces, namespace)
    }
    await applyAll(collected.invocations, { review, faults })
  }
  const denying = faults.filter(({ policy }) => policy.spec.failurePolicy !== 'Ignore')
  const [first] = denying
  if (first !== undefined) throw rejectionOf(first, { faults: denying, request })
}

export function mutatingPolicies(
  dependencies: PolicyDependencies & { readonly gates: FeatureGates },
): AdmissionPlugin {
  const { reader, resources, served, gates, authorizer } = dependencies
  const name = 'MutatingAdmissionPolicy'
  const { mutatingAdmissionPolicies: policies, mutatingAdmissionPolicyBindings: bindings } =
    resources
  if (!gates.MutatingAdmissionPolicy || !served.includes(policies)) return { name }
  const exempt = policyExemptPrefixes(resources)
  const compile = compileMutatingPolicy
  const policiesNow = configuredPolicies({ reader, policies, bindings, compile })
  return {
    name,
    mutate(request) {
      if (request.operation === 'DELETE' || request.object === undefined) return undefined
      const known = policiesNow()
      if (known.length === 0 || exempt.has(request.resource.storagePrefix)) return undefined
      // As with webhooks, policies do not change what the server needs to start.
      if (request.context === undefined) return undefined
      const checks = accessChecksOf(request, authorizer)
      return admit(known, { ...dependencies, request, checks })
    },
  }
}
