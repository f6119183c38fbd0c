/** The kinds that configure webhooks and policies: neither judges them, so that a broken one can be repaired. */
import type { Resources } from '../../api/resources.ts'

const exemptKinds = [
  'mutatingWebhookConfigurations',
  'mutatingAdmissionPolicies',
  'mutatingAdmissionPolicyBindings',
  'validatingWebhookConfigurations',
  'validatingAdmissionPolicies',
  'validatingAdmissionPolicyBindings',
] as const

/** Where the kinds are stored. */
export function exemptPrefixes(resources: Resources): ReadonlySet<string> {
  return new Set(exemptKinds.map((kind) => resources[kind].storagePrefix))
}

/** Reviews, which the cluster needs to work (upstream: pkg/kubeapiserver/admission/exclusion): policies do not look at them. */
const reviewKinds = [
  'localSubjectAccessReviews',
  'selfSubjectAccessReviews',
  'selfSubjectReviews',
  'selfSubjectRulesReviews',
  'subjectAccessReviews',
  'tokenReviews',
] as const

/** The same, and the reviews. */
export function policyExemptPrefixes(resources: Resources): ReadonlySet<string> {
  const reviews = reviewKinds.map((kind) => resources[kind].storagePrefix)
  return new Set([...exemptPrefixes(resources), ...reviews])
}
