/** What an update of a Job's status may say (upstream: batch/validation ValidateJobStatusUpdate). */
import type { Job } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goJson, validateNonNegativeFields } from '../rules/field-rules.ts'
import { countIndexes, sharedIndex } from './job-indexes.ts'

function has(job: Job, type: string): boolean {
  return (job.status?.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === 'True',
  )
}

/** Pairs of conditions that exclude each other, as upstream names them. */
const exclusive = [
  ['Complete', 'Failed', 'cannot set Complete=True and Failed=true conditions'],
  ['Complete', 'FailureTarget', 'cannot set Complete=True and FailureTarget=true conditions'],
  ['SuccessCriteriaMet', 'Failed', 'cannot set SuccessCriteriaMet=True and Failed=true conditions'],
  [
    'SuccessCriteriaMet',
    'FailureTarget',
    'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions',
  ],
] as const

export function validateJobStatusChange(job: Job, old: Job, at: FieldPath): void {
  const status = job.status ?? {}
  const counts = ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const
  validateNonNegativeFields(status, counts, at)
  validateUncounted(job, at.child('uncountedTerminatedPods'))
  validateConditions(job, at)
  validateTimes(job, at)
  if (has(job, 'Complete') || has(job, 'Failed')) validateFinished(job, at)
  validateIndexes(job, at)
  if ((status.ready ?? 0) > (status.active ?? 0)) {
    at.child('ready').invalid(status.ready, 'cannot set more ready pods than active')
  }
  validateProgress(job, old, at)
}

function validateUncounted({ status }: Job, at: FieldPath): void {
  const seen = new Set<string>()
  for (const list of ['succeeded', 'failed'] as const) {
    for (const [i, uid] of (status?.uncountedTerminatedPods?.[list] ?? []).entries()) {
      if (uid === '') at.child(list).index(i).invalid(uid, 'must not be empty')
      else if (seen.has(uid)) at.child(list).index(i).duplicate(uid)
      seen.add(uid)
    }
  }
}

function validateConditions(job: Job, at: FieldPath): void {
  const conditionsAt = at.child('conditions')
  for (const [a, b, text] of exclusive) {
    if (has(job, a) && has(job, b)) conditionsAt.invalidWithoutValue(text)
  }
  if (has(job, 'Failed') && !has(job, 'FailureTarget')) {
    conditionsAt.invalidWithoutValue(
      'cannot set Failed=True condition without the FailureTarget=true condition',
    )
  }
  if (has(job, 'Complete') && !has(job, 'SuccessCriteriaMet')) {
    conditionsAt.invalidWithoutValue(
      'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
    )
  }
}

function validateTimes(job: Job, at: FieldPath): void {
  const { startTime, completionTime } = job.status ?? {}
  const completionAt = at.child('completionTime')
  if (completionTime && !has(job, 'Complete')) {
    completionAt.invalid(
      completionTime,
      'cannot set completionTime when there is no Complete=True condition',
    )
  }
  if (!completionTime && has(job, 'Complete')) {
    completionAt.required('completionTime is required for Complete jobs')
  }
  if (startTime && completionTime && Date.parse(completionTime) < Date.parse(startTime)) {
    completionAt.invalid(completionTime, 'completionTime cannot be set before startTime')
  }
}

function validateFinished({ spec, status = {} }: Job, at: FieldPath): void {
  const { active = 0, terminating = 0, startTime, uncountedTerminatedPods: uncounted } = status
  if (active > 0) at.child('active').invalid(active, 'active>0 is invalid for finished job')
  // A suspended Job without completions is complete before it starts.
  const mayLackStart = spec?.suspend === true && spec.completions === 0
  if (!startTime && !mayLackStart) {
    at.child('startTime').required('startTime is required for finished job')
  }
  if ((uncounted?.succeeded?.length ?? 0) + (uncounted?.failed?.length ?? 0) > 0) {
    at.child('uncountedTerminatedPods').invalid(
      goJson(uncounted),
      'uncountedTerminatedPods needs to be empty for finished job',
    )
  }
  if (terminating > 0) {
    at.child('terminating').invalid(terminating, 'terminating>0 is invalid for finished job')
  }
}

function validateIndexes({ spec, status = {} }: Job, at: FieldPath): void {
  const { completedIndexes = '', failedIndexes } = status
  const { completions, completionMode, backoffLimitPerIndex } = spec ?? {}
  if (completions !== undefined) {
    const { fault } = countIndexes(completedIndexes, completions)
    if (fault !== undefined) {
      at.child('completedIndexes').invalid(
        completedIndexes,
        `error parsing completedIndexes: ${fault}`,
      )
    }
  }
  if (completedIndexes !== '' && completionMode !== 'Indexed') {
    at.child('completedIndexes').invalid(
      completedIndexes,
      'cannot set non-empty completedIndexes when non-indexed completion mode',
    )
  }
  if (failedIndexes === undefined) return
  const failedAt = at.child('failedIndexes')
  if (backoffLimitPerIndex === undefined) {
    failedAt.invalid(
      failedIndexes,
      'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
    )
  }
  if (completions === undefined) return
  const { fault } = countIndexes(failedIndexes, completions)
  if (fault !== undefined && backoffLimitPerIndex !== undefined) {
    failedAt.invalid(failedIndexes, `error parsing failedIndexes: ${fault}`)
  }
  const shared = sharedIndex(completedIndexes, failedIndexes, completions)
  if (shared !== undefined && completedIndexes !== '' && failedIndexes !== '') {
    failedAt.invalid(
      failedIndexes,
      `failedIndexes and completedIndexes overlap at index: ${shared}`,
    )
  }
}

/** Indexed Jobs of as many completions as Pods at a time may get fewer of both, and what was counted with them. */
function mayLoseSucceeded({ spec }: Job): boolean {
  return spec?.completionMode === 'Indexed' && spec.completions === spec.parallelism
}

/** Counters do not fall, terminal conditions stay. */
function validateProgress(job: Job, old: Job, at: FieldPath): void {
  const status = job.status ?? {}
  const before = old.status ?? {}
  for (const type of ['Failed', 'Complete', 'FailureTarget']) {
    if (has(old, type) && !has(job, type)) {
      at.child('conditions').invalidWithoutValue(
        `cannot disable the terminal ${type}=True condition`,
      )
    }
  }
  for (const field of ['failed', 'succeeded'] as const) {
    if (field === 'succeeded' && mayLoseSucceeded(job)) continue
    if ((status[field] ?? 0) >= (before[field] ?? 0)) continue
    at.child(field).invalid(status[field] ?? 0, `cannot decrease the ${field} counter`)
  }
  const { completionTime, startTime } = status
  if (completionTime && before.completionTime && completionTime !== before.completionTime) {
    at.child('completionTime').invalid(completionTime, 'completionTime cannot be mutated')
  }
  const isResumed = has(old, 'Suspended') && !has(job, 'Suspended')
  const isStopped = job.spec?.suspend === true
  if (before.startTime && before.startTime !== startTime && !isStopped && !isResumed) {
    at.child('startTime').required('startTime cannot be removed for unsuspended job')
  }
  if (has(old, 'SuccessCriteriaMet') && !has(job, 'SuccessCriteriaMet')) {
    at.child('conditions').invalidWithoutValue(
      'cannot disable the SuccessCriteriaMet=True condition',
    )
  }
}
