/** ConfiguredPolicies: the stored policies with their bindings, and which requests they match (upstream: plugin/policy/generic). */
import type {
  MatchResources,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicySpec,
} from '../../../api/generated/types.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { labelSelectorFrom } from '../../../machinery/selectors/label-selector.ts'
import type { AdmissionRequest } from '../admission.ts'
import { matchRules, matchWebhook } from '../webhook/matching.ts'
import type { WebhookDependencies } from '../webhook/webhook-call.ts'
import { compilePolicy, type PolicyProgram } from './policy-program.ts'

export interface Binding {
  readonly name: string
  readonly spec: NonNullable<ValidatingAdmissionPolicyBinding['spec']>
}

export interface Policy {
  readonly name: string
  readonly spec: ValidatingAdmissionPolicySpec
  readonly bindings: readonly Binding[]
  /** Compiled when first needed. */
  readonly program: () => Promise<PolicyProgram>
}

type Dependencies = Pick<WebhookDependencies, 'reader' | 'resources' | 'served'>

/** Policies that have bindings; the others match no request. */
function readPolicies({ reader, resources }: Dependencies): Policy[] {
  const { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } = resources
  const bindings = reader.list(
    validatingAdmissionPolicyBindings,
  ) as readonly ValidatingAdmissionPolicyBinding[]
  const policies = reader.list(validatingAdmissionPolicies) as readonly ValidatingAdmissionPolicy[]
  return policies.flatMap(({ metadata, spec }) => {
    const name = metadata.name ?? ''
    const own = bindings.flatMap((one) =>
      one.spec?.policyName === name ? [{ name: one.metadata.name ?? '', spec: one.spec }] : [],
    )
    if (own.length === 0 || spec === undefined) return []
    let program: Promise<PolicyProgram> | undefined
    return [{ name, spec, bindings: own, program: () => (program ??= compilePolicy(spec)) }]
  })
}

/** The policies as they are stored now, read again after a change. */
export function configuredPolicies(dependencies: Dependencies): () => readonly Policy[] {
  const { reader, resources } = dependencies
  let known: readonly Policy[] | undefined
  const forget = (): void => {
    known = undefined
  }
  reader.onChange(resources.validatingAdmissionPolicies, forget)
  reader.onChange(resources.validatingAdmissionPolicyBindings, forget)
  return () => (known ??= readPolicies(dependencies))
}

const everything = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }

/** The version in which the constraints match the request; undefined if they do not. Those of a binding may omit resource rules. */
export function matchedBy(
  constraints: MatchResources | undefined,
  { request, reader, resources, served }: Dependencies & { request: AdmissionRequest },
): Resource | undefined {
  if (!constraints) return request.resource
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = constraints
  const matchesEquivalent = matchPolicy !== 'Exact'
  const excluded = { rules: excludeResourceRules, matchesEquivalent, served }
  if (matchRules(request, excluded) !== undefined) return undefined
  const rules = resourceRules.length === 0 ? [everything] : resourceRules
  const selectors = {
    namespaceSelector: labelSelectorFrom(constraints.namespaceSelector ?? {}),
    objectSelector: labelSelectorFrom(constraints.objectSelector ?? {}),
  }
  const { namespaces } = resources
  return matchWebhook({ rules, matchesEquivalent, ...selectors }, request, {
    reader,
    namespaces,
    served,
  })
}
