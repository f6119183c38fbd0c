/** Why a Job ends (upstream: job_controller.go syncJob; KEP-3329, KEP-3850, KEP-3998, KEP-4368). Pure. */
import type { JobCondition } from '../../api/generated/types.ts'
import { indexCount } from './index-intervals.ts'
import type { JobConditionText } from './job-conditions.ts'
import { trueCondition } from './job-conditions.ts'
import { isPodFailed } from './job-pods.ts'
import { isSuspended } from './job-rules.ts'
import type { JobRules } from './job-rules.ts'
import type { JobView } from './job-view.ts'
import { judgeFailure } from './pod-failure-policy.ts'
import { metSuccessRule } from './success-policy.ts'

/** The condition of a Job that has reached its completions. */
export function completionEnd(rules: JobRules): JobConditionText {
  const text = rules.gates.JobSuccessPolicy
    ? { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' }
    : { reason: '', message: '' }
  return { type: 'SuccessCriteriaMet', status: 'True', ...text }
}

/** The last condition of a Job that `end` begins to end: Complete for SuccessCriteriaMet, Failed for FailureTarget. */
export function terminalCondition(end: JobConditionText): JobConditionText {
  const terminal: Readonly<Record<string, string>> = {
    SuccessCriteriaMet: 'Complete',
    FailureTarget: 'Failed',
  }
  return { ...end, type: terminal[end.type] ?? end.type }
}

/**
 * Why the Job ends although pods of it may still run; undefined when it goes on. `SuccessCriteriaMet` and `FailureTarget`
 * announce an end, `Failed` is one that was announced before.
 */
export function earlyEnd(view: JobView, nowMs: number): JobConditionText | undefined {
  return announcedEnd(view) ?? limitEnd(view, nowMs) ?? indexEnd(view)
}

/** How long the Job may still be active; undefined when it has no deadline, or none that runs. */
export function deadlineLeftMs({ job, spec }: JobView, nowMs: number): number | undefined {
  const { startTime } = job.status ?? {}
  if (spec.activeDeadlineSeconds === undefined || startTime === undefined || isSuspended(spec)) {
    return undefined
  }
  // Resumed just now: the time starts anew with the status that says so.
  if (trueCondition(job, 'Suspended') !== undefined) return spec.activeDeadlineSeconds * 1000
  return Date.parse(startTime) + spec.activeDeadlineSeconds * 1000 - nowMs
}

function textOf({ type, reason = '', message = '' }: JobCondition): JobConditionText {
  return { type, status: 'True', reason, message }
}

function failure(reason: string, message: string): JobConditionText {
  return { type: 'FailureTarget', status: 'True', reason, message }
}

function announcedEnd(view: JobView): JobConditionText | undefined {
  const { job, spec, pods, rules } = view
  const met = trueCondition(job, 'SuccessCriteriaMet')
  if (met !== undefined) return textOf(met)
  const target = trueCondition(job, 'FailureTarget')
  if (target !== undefined) return terminalCondition(textOf(target))
  if (spec.podFailurePolicy === undefined) return undefined
  const messages = pods
    .filter((pod) => isPodFailed(pod, spec, rules))
    .map((pod) => judgeFailure(spec, pod, rules).jobFailure)
  const message = messages.find((text) => text !== undefined)
  if (message === undefined) return undefined
  return failure('PodFailurePolicy', message)
}

function limitEnd(view: JobView, nowMs: number): JobConditionText | undefined {
  const { spec, failed } = view
  if (failed > (spec.backoffLimit ?? 6) || isPastRestartLimit(view)) {
    const message = 'Job has reached the specified backoff limit'
    return failure('BackoffLimitExceeded', message)
  }
  const leftMs = deadlineLeftMs(view, nowMs)
  if (leftMs === undefined || leftMs > 0) return undefined
  return failure('DeadlineExceeded', 'Job was active longer than specified deadline')
}

/** Containers that restart in place count as failures too. */
function isPastRestartLimit({ spec, pods }: JobView): boolean {
  if (spec.template.spec?.restartPolicy !== 'OnFailure') return false
  let restarts = 0
  for (const { status } of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue
    const { initContainerStatuses = [], containerStatuses = [] } = status
    for (const one of [...initContainerStatuses, ...containerStatuses]) restarts += one.restartCount
  }
  const limit = spec.backoffLimit ?? 6
  return limit === 0 ? restarts > 0 : restarts >= limit
}

function indexEnd(view: JobView): JobConditionText | undefined {
  const { spec, indexes, rules } = view
  if (indexes === undefined) return undefined
  const { succeeded, failed } = indexes
  const failures = failed === undefined ? 0 : indexCount(failed)
  if (spec.maxFailedIndexes !== undefined && failures > spec.maxFailedIndexes) {
    const message = 'Job has exceeded the specified maximal number of failed indexes'
    return failure('MaxFailedIndexesExceeded', message)
  }
  if (failures > 0 && failures + indexCount(succeeded) >= (spec.completions ?? 0)) {
    return failure('FailedIndexes', 'Job has failed indexes')
  }
  const message = rules.gates.JobSuccessPolicy ? metSuccessRule(spec, succeeded) : undefined
  if (message === undefined) return undefined
  return { type: 'SuccessCriteriaMet', status: 'True', reason: 'SuccessPolicy', message }
}
