/**
 * Fields of Jobs behind feature gates (upstream: pkg/registry/batch/job/strategy.go; KEP-3850, KEP-3939, KEP-3998,
 * KEP-4368): with its gate off, a field is dropped from new Jobs, and from updates of Jobs that do not have it.
 */
import type { FeatureGates } from '../../../api/feature-gates.ts'
import type { Job, JobSpec } from '../../../api/generated/types.ts'
import { dropDisabledPodFields } from '../core/pod/pod-features.ts'

/** `managedBy` is immutable: an update has nothing to drop. */
const gatedFields = [
  ['successPolicy', 'JobSuccessPolicy'],
  ['backoffLimitPerIndex', 'JobBackoffLimitPerIndex'],
  ['maxFailedIndexes', 'JobBackoffLimitPerIndex'],
  ['podReplacementPolicy', 'JobPodReplacementPolicy'],
] as const satisfies readonly (readonly [keyof JobSpec, keyof FeatureGates])[]

/** Changes `job`, which is a draft. `old` is the Job before an update. */
export function dropDisabledJobFields(job: Job, old: Job | undefined, gates: FeatureGates): void {
  const { spec } = job
  if (spec === undefined) return
  for (const [field, gate] of gatedFields) {
    if (!gates[gate] && old?.spec?.[field] === undefined) delete spec[field]
  }
  if (old === undefined) {
    if (!gates.JobManagedBy) delete spec.managedBy
    if (!gates.JobBackoffLimitPerIndex) dropIndexRules(spec)
  }
  const template = spec.template?.spec
  if (template) dropDisabledPodFields({ spec: template, old: old?.spec?.template?.spec }, gates)
}

/** The policy is immutable, so that only new Jobs lose these rules. */
function dropIndexRules({ podFailurePolicy }: JobSpec): void {
  if (podFailurePolicy?.rules === undefined) return
  podFailurePolicy.rules = podFailurePolicy.rules.filter(({ action }) => action !== 'FailIndex')
}
