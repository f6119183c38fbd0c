/**
 * What an update of a Job's status may say (upstream: batch/validation ValidateJobStatusUpdate, registry/batch/job
 * getStatusValidationOptions). With the gate JobManagedBy on, a rule is checked when the update changes what it is about, so
 * that a fault that is already stored blocks no other change. With the gate off, most rules do not apply.
 */
import type { FeatureGates } from '../../../api/feature-gates.ts'
import type { Job } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goJson, semanticEqual, validateNonNegativeFields } from '../rules/field-rules.ts'
import type { Change } from '../rules/strategy-checks.ts'
import { countIndexes, sharedIndex } from './job-indexes.ts'

function has(job: Job, type: string): boolean {
  return (job.status?.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === 'True',
  )
}

const fields = [
  'active',
  'ready',
  'terminating',
  'startTime',
  'completionTime',
  'completedIndexes',
  'failedIndexes',
  'uncountedTerminatedPods',
] as const
const conditionTypes = ['Complete', 'Failed', 'FailureTarget', 'SuccessCriteriaMet'] as const

type Part = (typeof fields)[number] | (typeof conditionTypes)[number] | 'finished'

function isFinished(job: Job): boolean {
  return has(job, 'Complete') || has(job, 'Failed')
}

/** What the update changes. */
function changedParts({ object: job, old }: Change<Job>): ReadonlySet<Part> {
  const parts = new Set<Part>()
  for (const field of fields) {
    if (!semanticEqual(job.status?.[field], old.status?.[field])) parts.add(field)
  }
  for (const type of conditionTypes) if (has(job, type) !== has(old, type)) parts.add(type)
  if (isFinished(job) !== isFinished(old)) parts.add('finished')
  return parts
}

/** One update of a status, as the rules see it. */
interface StatusUpdate extends Change<Job> {
  readonly at: FieldPath
  /** Whether the update changes any of these. */
  changes(...parts: readonly Part[]): boolean
}

export function validateJobStatusChange(
  change: Change<Job>,
  at: FieldPath,
  gates: FeatureGates,
): void {
  const { object: job, old } = change
  const parts = changedParts(change)
  const update: StatusUpdate = {
    ...change,
    at,
    changes: (...names) => names.some((name) => parts.has(name)),
  }
  const counts = ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const
  validateNonNegativeFields(job.status ?? {}, counts, at)
  validateUncounted(job, at.child('uncountedTerminatedPods'))
  if (gates.JobManagedBy) {
    validateConditions(update)
    validateTimes(update)
    if (isFinished(job)) validateFinished(update)
    validateIndexes(update)
    const { ready = 0, active = 0 } = job.status ?? {}
    if (ready > active && update.changes('ready', 'active')) {
      at.child('ready').invalid(ready, 'cannot set more ready pods than active')
    }
  }
  const mayMeetCriteria =
    gates.JobManagedBy || gates.JobPodReplacementPolicy || has(old, 'SuccessCriteriaMet')
  validateCriteria(job, at.child('conditions'), mayMeetCriteria)
  if (gates.JobManagedBy) validateProgress(update)
  validateCriteriaChange(change, at.child('conditions'))
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

function validateConditions({ object: job, at, changes }: StatusUpdate): void {
  const conditionsAt = at.child('conditions')
  const refuse = (text: string): void => conditionsAt.invalidWithoutValue(text)
  if (has(job, 'Complete') && has(job, 'Failed') && changes('Complete', 'Failed')) {
    refuse('cannot set Complete=True and Failed=true conditions')
  }
  if (has(job, 'Complete') && has(job, 'FailureTarget') && changes('Complete', 'FailureTarget')) {
    refuse('cannot set Complete=True and FailureTarget=true conditions')
  }
  if (has(job, 'Failed') && !has(job, 'FailureTarget') && changes('Failed', 'FailureTarget')) {
    refuse('cannot set Failed=True condition without the FailureTarget=true condition')
  }
  const lacksCriteria = has(job, 'Complete') && !has(job, 'SuccessCriteriaMet')
  if (lacksCriteria && changes('Complete', 'SuccessCriteriaMet')) {
    refuse('cannot set Complete=True condition without the SuccessCriteriaMet=true condition')
  }
}

/** Rules of the condition SuccessCriteriaMet, which hold whatever the gates (KEP-3998). */
function validateCriteria(job: Job, at: FieldPath, isAnyJobs: boolean): void {
  const { completionMode, successPolicy } = job.spec ?? {}
  const isMet = has(job, 'SuccessCriteriaMet')
  if (isMet && !isAnyJobs && completionMode !== 'Indexed') {
    at.invalidWithoutValue('cannot set SuccessCriteriaMet to NonIndexed Job')
  }
  for (const type of ['Failed', 'FailureTarget'] as const) {
    if (!isMet || !has(job, type)) continue
    at.invalidWithoutValue(`cannot set SuccessCriteriaMet=True and ${type}=true conditions`)
  }
  if (isMet && !isAnyJobs && successPolicy === undefined) {
    at.invalidWithoutValue('cannot set SuccessCriteriaMet=True for Job without SuccessPolicy')
  }
  if (!isMet && successPolicy !== undefined && has(job, 'Complete')) {
    at.invalidWithoutValue(
      'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
    )
  }
}

function validateCriteriaChange({ object: job, old }: Change<Job>, at: FieldPath): void {
  const [isMet, wasMet] = [has(job, 'SuccessCriteriaMet'), has(old, 'SuccessCriteriaMet')]
  if (wasMet && !isMet) {
    at.invalidWithoutValue('cannot disable the SuccessCriteriaMet=True condition')
  }
  if (isMet && !wasMet && has(old, 'Complete')) {
    at.invalidWithoutValue(
      'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
    )
  }
}

function validateTimes({ object: job, at, changes }: StatusUpdate): void {
  const { startTime, completionTime } = job.status ?? {}
  const completionAt = at.child('completionTime')
  if (changes('Complete', 'completionTime')) {
    if (completionTime && !has(job, 'Complete')) {
      completionAt.invalid(
        completionTime,
        'cannot set completionTime when there is no Complete=True condition',
      )
    }
    if (!completionTime && has(job, 'Complete')) {
      completionAt.required('completionTime is required for Complete jobs')
    }
  }
  if (!startTime || !completionTime || !changes('startTime', 'completionTime')) return
  if (Date.parse(completionTime) < Date.parse(startTime)) {
    completionAt.invalid(completionTime, 'completionTime cannot be set before startTime')
  }
}

function validateFinished({ object: { spec, status = {} }, at, changes }: StatusUpdate): void {
  const { active = 0, terminating = 0, startTime, uncountedTerminatedPods: uncounted } = status
  if (active > 0 && changes('finished', 'active')) {
    at.child('active').invalid(active, 'active>0 is invalid for finished job')
  }
  // A suspended Job without completions is complete before it starts.
  const mayLackStart = spec?.suspend === true && spec.completions === 0
  if (!startTime && !mayLackStart && changes('finished', 'startTime')) {
    at.child('startTime').required('startTime is required for finished job')
  }
  const left = (uncounted?.succeeded?.length ?? 0) + (uncounted?.failed?.length ?? 0)
  if (left > 0 && changes('finished', 'uncountedTerminatedPods')) {
    at.child('uncountedTerminatedPods').invalid(
      goJson(uncounted),
      'uncountedTerminatedPods needs to be empty for finished job',
    )
  }
  if (terminating > 0 && changes('finished', 'terminating')) {
    at.child('terminating').invalid(terminating, 'terminating>0 is invalid for finished job')
  }
}

function validateIndexes(update: StatusUpdate): void {
  const { object, at, changes } = update
  const { completedIndexes = '' } = object.status ?? {}
  const { completions, completionMode } = object.spec ?? {}
  const completedAt = at.child('completedIndexes')
  if (changes('completedIndexes')) {
    const { fault } = completions === undefined ? {} : countIndexes(completedIndexes, completions)
    if (fault !== undefined) {
      completedAt.invalid(completedIndexes, `error parsing completedIndexes: ${fault}`)
    }
    if (completedIndexes !== '' && completionMode !== 'Indexed') {
      completedAt.invalid(
        completedIndexes,
        'cannot set non-empty completedIndexes when non-indexed completion mode',
      )
    }
  }
  if (changes('completedIndexes', 'failedIndexes')) validateFailedIndexes(update)
}

function validateFailedIndexes({ object, at, changes }: StatusUpdate): void {
  const { completedIndexes = '', failedIndexes } = object.status ?? {}
  const { completions, backoffLimitPerIndex } = object.spec ?? {}
  if (failedIndexes === undefined) return
  const failedAt = at.child('failedIndexes')
  if (backoffLimitPerIndex === undefined && changes('failedIndexes')) {
    failedAt.invalid(
      failedIndexes,
      'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
    )
  }
  if (completions === undefined) return
  const { fault } = countIndexes(failedIndexes, completions)
  if (fault !== undefined && backoffLimitPerIndex !== undefined && changes('failedIndexes')) {
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
function validateProgress({ object: job, old, at }: StatusUpdate): void {
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
}
