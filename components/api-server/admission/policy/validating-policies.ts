/**
 * ValidatingAdmissionPolicy: writes are judged by expressions that policies state and bindings put to use
 * (upstream: plugin/policy/validating). Nothing is compiled before there is a policy.
 */
import type {
  MatchResources,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicySpec,
} from '../../../api/generated/types.ts'
import { labelSelectorFrom } from '../../../machinery/selectors/label-selector.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { reasonCodes, StatusError, type Reason } from '../../../machinery/objects/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import { admissionForbidden } from '../forbid.ts'
import { reviewRequestOf } from '../webhook/admission-review.ts'
import { matchRules, matchWebhook } from '../webhook/matching.ts'
import { accessChecksOf, type AccessChecks } from '../expressions/access-checks.ts'
import { admissionValues, type Values } from '../../expressions/admission-variables.ts'
import { inVersionOf, namespaceOf } from '../webhook/reviewed-request.ts'
import { annotate, exemptPrefixes, type WebhookDependencies } from '../webhook/webhook-caller.ts'
import { refusedBy } from '../../request/refusal.ts'
import { policyParams } from './policy-params.ts'
import { compilePolicy, type Failure, type PolicyProgram } from './policy-program.ts'

interface Binding {
  readonly name: string
  readonly spec: NonNullable<ValidatingAdmissionPolicyBinding['spec']>
}

interface Policy {
  readonly name: string
  readonly spec: ValidatingAdmissionPolicySpec
  readonly bindings: readonly Binding[]
  readonly program: () => Promise<PolicyProgram>
}

type Dependencies = Omit<WebhookDependencies, 'metrics' | 'log' | 'egress'> & {
  /** The kinds that definitions add to what is served. */
  readonly customKinds: () => readonly Resource[]
}

/** Failures that refuse the request, or are noted in the audit record, with whose they are. */
interface Judged {
  readonly policy: string
  readonly binding: string
  readonly failure: Failure
  readonly actions: readonly string[]
}

export function validatingPolicies(dependencies: Dependencies): AdmissionPlugin {
  const { reader, dialect, resources, served, customKinds, authorizer } = dependencies
  const { namespaces, validatingAdmissionPolicies, validatingAdmissionPolicyBindings } = resources
  const exempt = exemptPrefixes(resources)
  let known: readonly Policy[] | undefined
  for (const resource of [validatingAdmissionPolicies, validatingAdmissionPolicyBindings]) {
    reader.onChange(resource, () => (known = undefined))
  }

  function current(): readonly Policy[] {
    known ??= readPolicies()
    return known
  }

  /** Those that are bound; the others judge nothing. */
  function readPolicies(): Policy[] {
    const bindings = reader.list(
      validatingAdmissionPolicyBindings,
    ) as readonly ValidatingAdmissionPolicyBinding[]
    const policies = reader.list(
      validatingAdmissionPolicies,
    ) as readonly ValidatingAdmissionPolicy[]
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

  /** The version by which constraints match; those of a binding need not name resources. */
  function matchedBy(
    constraints: MatchResources | undefined,
    request: AdmissionRequest,
  ): Resource | undefined {
    if (!constraints) return request.resource
    const { resourceRules = [], excludeResourceRules = [], matchPolicy } = constraints
    const matchesEquivalent = matchPolicy !== 'Exact'
    const excluded = { rules: excludeResourceRules, matchesEquivalent, served }
    if (matchRules(request, excluded) !== undefined) return undefined
    const everything = {
      operations: ['*'],
      apiGroups: ['*'],
      apiVersions: ['*'],
      resources: ['*/*'],
    }
    const rules = resourceRules.length === 0 ? [everything] : resourceRules
    const selectors = {
      namespaceSelector: labelSelectorFrom(constraints.namespaceSelector ?? {}),
      objectSelector: labelSelectorFrom(constraints.objectSelector ?? {}),
    }
    return matchWebhook({ rules, matchesEquivalent, ...selectors }, request, {
      reader,
      namespaces,
      served,
    })
  }

  async function valuesOf(request: AdmissionRequest, matched: Resource): Promise<Values> {
    const object = await inVersionOf(matched, request, request.object)
    const old = await inVersionOf(matched, request, request.old)
    const review = reviewRequestOf(
      request,
      { matched, object, old, isNameHidden: false },
      { uid: '', dialect },
    )
    const namespace = namespaceOf(request)
    const namespaceObject = namespace === '' ? undefined : reader.get(namespaces, '', namespace)
    return { ...admissionValues(review), namespaceObject: namespaceObject ?? null }
  }

  async function judge(
    policy: Policy,
    request: AdmissionRequest,
    checks: AccessChecks,
  ): Promise<Judged[]> {
    const matched = matchedBy(policy.spec.matchConstraints, request)
    if (matched === undefined) return []
    const bindings = policy.bindings.filter(({ spec }) => matchedBy(spec.matchResources, request))
    if (bindings.length === 0) return []
    const program = await policy.program()
    const values = { ...(await valuesOf(request, matched)), ...checks.values }
    const judged: Judged[] = []
    const written = new Map<string, Set<string>>()
    for (const { name: binding, spec } of bindings) {
      const whose = { policy: policy.name, binding }
      const actions = spec.validationActions ?? []
      let params
      try {
        const { paramKind } = policy.spec
        const { paramRef } = spec
        const { namespace } = request
        params = await policyParams(
          { paramKind, paramRef, namespace },
          { reader, kinds: [...served, ...customKinds()] },
        )
      } catch (error) {
        if (policy.spec.failurePolicy === 'Ignore') continue
        const message = `failed to configure binding: ${(error as Error).message}`
        judged.push({
          ...whose,
          failure: { index: 0, message, reason: 'Invalid' },
          actions: ['Deny'],
        })
        continue
      }
      for (const param of params) {
        const outcome = await program.evaluate({ ...values, params: param }, checks)
        for (const failure of outcome?.failures ?? []) judged.push({ ...whose, failure, actions })
        for (const [key, value] of outcome?.annotations ?? []) {
          const texts = written.get(key) ?? new Set()
          written.set(key, texts.add(value))
        }
      }
    }
    for (const [key, texts] of written) {
      annotate(request, `/${policy.name}/${key}`, [...texts].join(', '))
    }
    return judged
  }

  function refusal({ policy, binding, failure }: Judged, request: AdmissionRequest): StatusError {
    const what = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${failure.message}`
    const { message, details } = admissionForbidden(request, what)
    const reason = failure.reason as Reason
    const error = new StatusError(reason, message, {
      code: reasonCodes[reason] ?? reasonCodes.Invalid,
      details: { ...details, causes: [{ message: what }] },
    })
    return refusedBy(error, { policy, binding })
  }

  async function judgeAll(policies: readonly Policy[], request: AdmissionRequest): Promise<void> {
    const judged: Judged[] = []
    const checks = accessChecksOf(request, authorizer)
    for (const policy of policies) judged.push(...(await judge(policy, request, checks)))
    for (const { policy, binding, failure, actions } of judged) {
      if (!actions.includes('Warn')) continue
      request.warnings.push(
        `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${failure.message}`,
      )
    }
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
    const denied = judged.find(({ actions }) => actions.includes('Deny'))
    if (denied !== undefined) throw refusal(denied, request)
  }

  return {
    name: 'ValidatingAdmissionPolicy',
    validate(request) {
      const policies = current()
      if (policies.length === 0 || exempt.has(request.resource.storagePrefix)) return undefined
      // As with webhooks: what the server needs to start is not judged.
      if (request.context === undefined) return undefined
      return judgeAll(policies, request)
    },
  }
}
