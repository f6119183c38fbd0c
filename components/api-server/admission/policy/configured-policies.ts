/** ConfiguredPolicies: the stored policies with their bindings, and which requests they match (upstream: plugin/policy/generic). */
import type {
  MatchResources,
  ObjectMeta,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/generated/types.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { labelSelectorFrom } from '../../../machinery/selectors/label-selector.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionRequest } from '../admission.ts'
import { matchRules, matchWebhook } from '../webhook/matching.ts'
import type { WebhookDependencies } from '../webhook/webhook-call.ts'

/** A binding of a validating policy; those of mutating policies have no actions. */
export interface Binding {
  readonly name: string
  readonly spec: NonNullable<ValidatingAdmissionPolicyBinding['spec']>
}

export interface Policy<Spec, Program> {
  readonly name: string
  readonly spec: Spec
  readonly bindings: readonly Binding[]
  /** Compiled when first needed. */
  readonly program: () => Promise<Program>
}

interface PolicySource<Spec, Program> {
  readonly reader: ObjectReader
  readonly policies: Resource
  readonly bindings: Resource
  readonly compile: (spec: Spec) => Promise<Program>
}

interface StoredPolicy<Spec> {
  readonly metadata: ObjectMeta
  readonly spec?: Spec
}

/** Policies that have bindings; the others match no request. */
function readPolicies<Spec, Program>(
  source: PolicySource<Spec, Program>,
): readonly Policy<Spec, Program>[] {
  const { reader, compile } = source
  const bindings = reader.list(source.bindings) as readonly ValidatingAdmissionPolicyBinding[]
  const policies = reader.list(source.policies) as readonly StoredPolicy<Spec>[]
  return policies.flatMap(({ metadata, spec }) => {
    const name = metadata.name ?? ''
    const own = bindings.flatMap((one) =>
      one.spec?.policyName === name ? [{ name: one.metadata.name ?? '', spec: one.spec }] : [],
    )
    if (own.length === 0 || spec === undefined) return []
    let program: Promise<Program> | undefined
    return [{ name, spec, bindings: own, program: () => (program ??= compile(spec)) }]
  })
}

/** The policies as they are stored now, read again after a change. */
export function configuredPolicies<Spec, Program>(
  source: PolicySource<Spec, Program>,
): () => readonly Policy<Spec, Program>[] {
  const { reader } = source
  let known: readonly Policy<Spec, Program>[] | undefined
  const forget = (): void => {
    known = undefined
  }
  reader.onChange(source.policies, forget)
  reader.onChange(source.bindings, forget)
  return () => (known ??= readPolicies(source))
}

type Dependencies = Pick<WebhookDependencies, 'reader' | 'resources' | 'served'>

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
