/** CronJob (upstream: pkg/apis/batch, pkg/registry/batch/cronjob). */
import type { CronJob, CronJobSpec } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { parseCron } from '../../../api/cron/cron-schedule.ts'
import { isTimeZone } from '../../../api/cron/time-zone.ts'
import { messageOf } from '../../../component-base/log.ts'
import { validateNonNegativeFields, validateRequiredOneOf } from '../rules/field-rules.ts'
import { validateJobSpec } from './job-spec-validation.ts'
import { defaultPodTemplate } from '../core/pod/pod-defaults.ts'
import { dropDisabledPodFields } from '../core/pod/pod-features.ts'
import { templateWarnings } from '../core/pod/pod-warnings.ts'
import { goLabelSelector } from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { createValidation, updateValidation } from '../rules/strategy-checks.ts'

const concurrencyPolicies = ['Allow', 'Forbid', 'Replace']
/** The controller appends a dash and ten digits to a name to name a Job. */
const maxNameLength = 52

/** Only the pods of the template get defaults: a Job gets its own when it is made (upstream: SetDefaults_CronJob). */
function defaultCronJob(object: KubeObject): void {
  const { spec } = object as CronJob
  if (spec === undefined) return
  spec.concurrencyPolicy ||= 'Allow'
  spec.suspend ??= false
  spec.successfulJobsHistoryLimit ??= 3
  spec.failedJobsHistoryLimit ??= 1
  const template = spec.jobTemplate?.spec?.template
  if (template) defaultPodTemplate(template)
}

function validateSchedule(spec: CronJobSpec, old: CronJobSpec | undefined, at: FieldPath): void {
  const { schedule, timeZone } = spec
  if (!schedule) {
    at.required()
    return
  }
  try {
    parseCron(schedule)
  } catch (error) {
    at.invalid(schedule, messageOf(error))
  }
  if (!schedule.includes('TZ')) return
  const hadZone = old?.schedule.includes('TZ') ?? false
  if (!hadZone) {
    at.invalid(schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead')
  } else if (timeZone !== undefined) {
    at.invalid(schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule')
  }
}

const zonePart = /^[A-Za-z.\-_0-9+]{1,14}$/

function validateTimeZone(zone: string | undefined, at: FieldPath): void {
  if (zone === undefined) return
  if (zone === '') {
    at.invalid(zone, 'timeZone must be nil or non-empty string')
    return
  }
  const isWellFormed = zone
    .split('/')
    .every((part) => part !== '.' && part !== '..' && !part.startsWith('-') && zonePart.test(part))
  if (!isWellFormed) {
    at.invalid(zone, `unknown time zone ${zone}`)
    return
  }
  if (zone.toLowerCase() === 'local') {
    at.invalid(
      zone,
      'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    )
  } else if (!isTimeZone(zone)) at.invalid(zone, `unknown time zone ${zone}`)
}

function validateSpec(
  spec: CronJobSpec,
  { old, context }: { old: CronJobSpec | undefined; context: StrategyContext },
  at: FieldPath,
): void {
  validateSchedule(spec, old, at.child('schedule'))
  validateNonNegativeFields(
    spec,
    ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'],
    at,
  )
  if (old === undefined || old.timeZone !== spec.timeZone) {
    validateTimeZone(spec.timeZone, at.child('timeZone'))
  }
  validateRequiredOneOf(spec.concurrencyPolicy, concurrencyPolicies, at.child('concurrencyPolicy'))
  const job = spec.jobTemplate?.spec ?? { template: {} }
  const jobAt = at.child('jobTemplate').child('spec')
  validateJobSpec(job, jobAt, context)
  if (job.selector) {
    jobAt
      .child('selector')
      .invalid(goLabelSelector(job.selector), '`selector` will be auto-generated')
  }
  if (job.manualSelector) jobAt.child('manualSelector').unsupported(true, ['nil', 'false'])
}

function validateCronJob(
  { object, old }: { readonly object: CronJob; readonly old: CronJob | undefined },
  root: FieldPath,
  context: StrategyContext,
): void {
  const { spec, metadata } = object
  if (spec) validateSpec(spec, { old: old?.spec, context }, root.child('spec'))
  else root.child('spec').required()
  const { name = '' } = metadata
  if (old === undefined && name.length > maxNameLength) {
    root.child('metadata').child('name').invalid(name, 'must be no more than 52 characters')
  }
}

function dropDisabled(
  object: KubeObject,
  old: KubeObject | undefined,
  { gates }: StrategyContext,
): void {
  const spec = (object as CronJob).spec?.jobTemplate?.spec?.template?.spec
  const before = (old as CronJob | undefined)?.spec?.jobTemplate?.spec?.template?.spec
  if (spec) dropDisabledPodFields({ spec, old: before }, gates)
}

export const cronJobStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults: defaultCronJob,
  prepareForCreate(object, context) {
    object['status'] = {}
    dropDisabled(object, undefined, context)
  },
  prepareForUpdate: dropDisabled,
  validate: createValidation((object: CronJob, root, context) => {
    validateCronJob({ object, old: undefined }, root, context)
  }),
  validateUpdate: updateValidation<CronJob>(validateCronJob),
  warnings(object, old, { dialect }) {
    if (old !== undefined && old.metadata.generation === object.metadata.generation) return []
    const { jobTemplate, schedule = '' } = (object as CronJob).spec ?? {}
    const path = ['spec', 'jobTemplate', 'spec', 'template']
    const warnings = templateWarnings(object, jobTemplate?.spec?.template, dialect, path)
    if (!schedule.includes('TZ')) return warnings
    return [
      ...warnings,
      'CRON_TZ or TZ used in schedule is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
    ]
  },
  subresources: { status: { prepareForUpdate: restoreAllButStatus } },
}
