/** Conditions of a Job (upstream: job_controller.go newCondition, ensureJobConditionStatus; job/util). Pure. */
import type { Job, JobCondition } from '../../api/generated/types.ts'
import { findCondition } from '../conditions.ts'

export interface JobConditionText {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

export function jobCondition(
  { type, status, reason, message }: JobConditionText,
  now: string,
): JobCondition {
  return {
    type,
    status,
    lastProbeTime: now,
    lastTransitionTime: now,
    ...(reason === '' ? {} : { reason }),
    ...(message === '' ? {} : { message }),
  }
}

/** The list with the condition in it; undefined when it changes nothing. A new condition that is False is not added. */
export function withJobCondition(
  conditions: readonly JobCondition[] = [],
  condition: JobConditionText,
  now: string,
): JobCondition[] | undefined {
  const old = findCondition(conditions, condition.type)
  if (old === undefined) {
    if (condition.status === 'False') return undefined
    return [...conditions, jobCondition(condition, now)]
  }
  const isSame =
    old.status === condition.status &&
    (old.reason ?? '') === condition.reason &&
    (old.message ?? '') === condition.message
  if (isSame) return undefined
  return conditions.map((one) => (one === old ? jobCondition(condition, now) : one))
}

/** The condition of that type, if it is True. */
export function trueCondition({ status }: Job, type: string): JobCondition | undefined {
  const found = findCondition(status?.conditions, type)
  return found?.status === 'True' ? found : undefined
}

/** Complete or Failed; undefined while the Job goes on. */
export function finishedCondition(job: Job): JobCondition | undefined {
  return (job.status?.conditions ?? []).find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  )
}
