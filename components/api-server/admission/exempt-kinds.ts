/** The kinds that configure webhooks and policies: neither judges them, so that a broken one can be repaired. */
import type { Resources } from '../../api/resources.ts'

const exemptKinds = [
  'mutatingWebhookConfigurations',
  'validatingWebhookConfigurations',
  'validatingAdmissionPolicies',
  'validatingAdmissionPolicyBindings',
] as const

/** Where the kinds are stored. */
export function exemptPrefixes(resources: Resources): ReadonlySet<string> {
  return new Set(exemptKinds.map((kind) => resources[kind].storagePrefix))
}
