/** Names of a Job's labels, annotations and finalizer, and what its spec and the feature gates say about it. Pure. */
import { labelKey } from '../../api/dialect.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import type { Job, JobSpec } from '../../api/generated/types.ts'

export interface JobRules {
  readonly gates: FeatureGates
  /** The finalizer that keeps a pod until the Job has counted it. */
  readonly finalizer: string
  /** Annotation and label with the completion index. */
  readonly indexKey: string
  /** Annotations that carry an index's failures from pod to pod. */
  readonly failureCountKey: string
  readonly ignoredFailureCountKey: string
  /** The value of `spec.managedBy` that means this controller. */
  readonly controllerName: string
}

export function jobRules(dialect: Dialect, gates: FeatureGates): JobRules {
  return {
    gates,
    finalizer: labelKey(dialect, 'batch', 'job-tracking'),
    indexKey: labelKey(dialect, 'batch', 'job-completion-index'),
    failureCountKey: labelKey(dialect, 'batch', 'job-index-failure-count'),
    ignoredFailureCountKey: labelKey(dialect, 'batch', 'job-index-ignored-failure-count'),
    controllerName: labelKey(dialect, '', 'job-controller'),
  }
}

export function isIndexed({ completionMode }: JobSpec): boolean {
  return completionMode === 'Indexed'
}

export function isSuspended({ suspend }: JobSpec): boolean {
  return suspend === true
}

export function hasLimitPerIndex(spec: JobSpec, { gates }: JobRules): boolean {
  return gates.JobBackoffLimitPerIndex && spec.backoffLimitPerIndex !== undefined
}

/** A pod is replaced once it has failed, not as soon as it is being deleted. */
export function onlyReplacesFailed(spec: JobSpec, { gates }: JobRules): boolean {
  if (spec.podFailurePolicy !== undefined) return true
  return gates.JobPodReplacementPolicy && spec.podReplacementPolicy === 'Failed'
}

export function isManagedElsewhere({ spec }: Job, { gates, controllerName }: JobRules): boolean {
  const { managedBy } = spec ?? {}
  return gates.JobManagedBy && managedBy !== undefined && managedBy !== controllerName
}
