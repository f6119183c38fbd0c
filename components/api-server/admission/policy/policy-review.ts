/** PolicyReview: one request as admission policies look at it, and what their expressions see of it. */
import type { ParamKind } from '../../../api/generated/types.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { admissionValues, type Values } from '../../expressions/admission-variables.ts'
import type { AdmissionRequest } from '../admission.ts'
import type { AccessChecks } from '../expressions/access-checks.ts'
import { reviewRequestOf, type Invocation } from '../webhook/admission-review.ts'
import { inVersionOf, namespaceOf } from '../webhook/reviewed-request.ts'
import type { WebhookDependencies } from '../webhook/webhook-call.ts'
import type { Binding } from './configured-policies.ts'
import { policyParams } from './policy-params.ts'

export type PolicyDependencies = Omit<WebhookDependencies, 'metrics' | 'log' | 'egress'> & {
  /** The kinds that CustomResourceDefinitions add. */
  readonly customKinds: () => readonly Resource[]
}

export interface PolicyReview extends PolicyDependencies {
  readonly request: AdmissionRequest
  readonly checks: AccessChecks
}

/** The values of CEL variables in the version that the policy matched. */
export async function policyValues(
  { request, reader, resources, dialect, checks }: PolicyReview,
  seen: Omit<Invocation, 'old'>,
): Promise<Values> {
  const old = await inVersionOf(seen.matched, request, request.old)
  const review = reviewRequestOf(request, { ...seen, old }, { uid: '', dialect })
  const namespace = namespaceOf(request)
  const { namespaces } = resources
  const namespaceObject = namespace === '' ? undefined : reader.get(namespaces, '', namespace)
  return {
    ...admissionValues(review),
    namespaceObject: namespaceObject ?? null,
    ...(await checks.values()),
  }
}

/** The objects with which a binding evaluates its policy, or why they are not found. */
export async function paramsOf(
  paramKind: ParamKind | undefined,
  { binding, review }: { binding: Binding; review: PolicyReview },
): Promise<{ params: readonly (KubeObject | null)[] } | { fault: string }> {
  const { request, reader, served, customKinds } = review
  const { paramRef } = binding.spec
  const { namespace } = request
  try {
    const kinds = [...served, ...customKinds()]
    return { params: await policyParams({ paramKind, paramRef, namespace }, { reader, kinds }) }
  } catch (error) {
    return { fault: `failed to configure binding: ${(error as Error).message}` }
  }
}
