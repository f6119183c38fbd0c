/** CronJobs that never run, are suspended, missed a run, or whose last Job failed. */
import { runsOf, type NextRun } from '../../../components/api/cron/cron-job-runs.ts'
import { isTimeZone, localZoneName } from '../../../components/api/cron/time-zone.ts'
import type { CronJob, Job } from '../../../components/api/generated/types.ts'
import { timestamp } from '../../../components/component-base/clock.ts'
import { messageOf } from '../../../components/component-base/log.ts'
import { controllerOf } from '../../../components/machinery/objects/object.ts'
import { conditionOf, conditionsSeen, eventsAbout, eventsSeen, seen, timeOf } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { sentence } from '../names.ts'
import type { Related } from '../related.ts'

/** The controller starts a run within this time of its moment, unless something keeps it from it. */
const usualDelayMs = 30_000

type Schedule =
  { readonly ok: true; readonly next: NextRun } | { readonly ok: false; readonly why: string }

/** The controller runs on this machine, so the local zone is its own. */
function scheduleOf(cronJob: CronJob): Schedule {
  const { timeZone } = cronJob.spec ?? {}
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    return { ok: false, why: `unknown time zone ${timeZone}` }
  }
  try {
    return { ok: true, next: runsOf(cronJob, localZoneName) }
  } catch (error) {
    return { ok: false, why: messageOf(error) }
  }
}

/** The Job that was created last. */
function lastJobOf({ metadata }: CronJob, { jobs }: Related): Job | undefined {
  const startedMs = (job: Job): number => Date.parse(job.metadata.creationTimestamp ?? '')
  const own = jobs.filter((job) => controllerOf(job)?.uid === metadata.uid)
  return own.toSorted((a, b) => startedMs(b) - startedMs(a))[0]
}

function scheduleFinding(cronJob: CronJob, related: Related): Finding | undefined {
  const runs = scheduleOf(cronJob)
  const schedule = cronJob.spec?.schedule
  if (!runs.ok) {
    return {
      cause: 'InvalidSchedule',
      message: `The schedule "${schedule}" cannot be read: ${runs.why}.`,
      evidence: [
        seen(cronJob, `spec.schedule is "${schedule}"`),
        ...eventsSeen(related, cronJob, [
          'UnParseableCronJobSchedule',
          'UnparseableSchedule',
          'InvalidSchedule',
          'UnknownTimeZone',
        ]),
      ],
      next: ['correct spec.schedule and spec.timeZone'],
    }
  }
  if (runs.next(related.nowMs) !== undefined) return undefined
  return {
    cause: 'NeverRuns',
    message: `The schedule "${schedule}" matches no moment of the next five years.`,
    evidence: [seen(cronJob, `spec.schedule is "${schedule}"`)],
    next: ['correct spec.schedule'],
  }
}

function suspendedFinding(cronJob: CronJob): Finding | undefined {
  if (cronJob.spec?.suspend !== true) return undefined
  const { name, namespace } = cronJob.metadata
  return {
    cause: 'Suspended',
    message: 'The CronJob is suspended: it starts no Jobs.',
    evidence: [seen(cronJob, 'spec.suspend is true')],
    next: [
      `resume it: kubectl patch cronjob ${name} -n ${namespace} --type=merge -p '{"spec":{"suspend":false}}'`,
    ],
  }
}

/** A run whose time has come: Jobs cannot be created, the one before still runs, or nothing starts it. */
function missedFinding(cronJob: CronJob, related: Related): Finding | undefined {
  const runs = scheduleOf(cronJob)
  const { lastScheduleTime, active = [] } = cronJob.status ?? {}
  const sinceText = lastScheduleTime ?? cronJob.metadata.creationTimestamp ?? ''
  const dueMs = runs.ok ? runs.next(Date.parse(sinceText)) : undefined
  if (dueMs === undefined) return undefined
  const due = { cronJob, related, dueMs }
  const [failure] = eventsAbout(related, cronJob, ['FailedCreate'])
  if (failure !== undefined && Date.parse(timeOf(failure)) >= dueMs) {
    return {
      cause: 'JobsNotCreated',
      message: sentence(`A Job could not be created: ${failure.message}`),
      evidence: eventsSeen(related, cronJob, ['FailedCreate']),
      next: ['correct what the event names; the controller tries again'],
    }
  }
  if (dueMs + usualDelayMs > related.nowMs) return undefined
  const [running] = active
  const isBlocked = cronJob.spec?.concurrencyPolicy === 'Forbid' && running !== undefined
  return isBlocked ? blockedFinding(due, running.name ?? '') : lateFinding(due)
}

interface Due {
  readonly cronJob: CronJob
  readonly related: Related
  readonly dueMs: number
}

function runsSeen({ cronJob, related }: Due): Evidence[] {
  const { lastScheduleTime } = cronJob.status ?? {}
  const reasons = ['MissSchedule', 'TooManyMissedTimes', 'JobAlreadyActive']
  return [
    seen(cronJob, `the last run was ${lastScheduleTime ?? 'never'}`, lastScheduleTime),
    ...eventsSeen(related, cronJob, reasons),
  ]
}

function blockedFinding(due: Due, running: string): Finding {
  return {
    cause: 'StillRunning',
    message: `The run of ${timestamp(due.dueMs)} waits: concurrencyPolicy is Forbid, and ${running} still runs.`,
    evidence: runsSeen(due),
    next: [`see why it still runs: skiff why job ${running} -n ${due.cronJob.metadata.namespace}`],
  }
}

function lateFinding(due: Due): Finding {
  const { startingDeadlineSeconds: deadline } = due.cronJob.spec ?? {}
  const check = 'check that the controller manager runs: skiff status'
  return {
    cause: 'MissedRun',
    message: `The run of ${timestamp(due.dueMs)} has not begun.`,
    evidence: runsSeen(due),
    next: [
      deadline === undefined
        ? check
        : `raise spec.startingDeadlineSeconds (${deadline}), and ${check}`,
    ],
  }
}

function lastJobFinding(cronJob: CronJob, related: Related): Finding | undefined {
  const last = lastJobOf(cronJob, related)
  if (last === undefined || conditionOf(last, 'Failed')?.status !== 'True') return undefined
  return {
    cause: 'LastJobFailed',
    message: `The last Job, ${last.metadata.name}, failed.`,
    evidence: conditionsSeen(last, 'Failed'),
    next: [`see why: skiff why job ${last.metadata.name} -n ${last.metadata.namespace}`],
  }
}

function explainCronJob(cronJob: CronJob, related: Related): Finding[] {
  const idle = scheduleFinding(cronJob, related) ?? suspendedFinding(cronJob)
  if (idle !== undefined) return [idle]
  const found = [missedFinding(cronJob, related), lastJobFinding(cronJob, related)]
  return found.filter((one) => one !== undefined)
}

export const cronJob = defineExplainer<CronJob>({
  needs: (object) => [
    eventsNeed(object),
    { of: 'jobs', namespace: object.metadata.namespace ?? '' },
  ],
  explain: explainCronJob,
  state: (object, { nowMs }) => {
    if (object.spec?.suspend === true) return 'Suspended'
    const runs = scheduleOf(object)
    const nextMs = runs.ok ? runs.next(nowMs) : undefined
    const last = object.status?.lastScheduleTime ?? 'never'
    return nextMs === undefined
      ? `last run: ${last}`
      : `last run: ${last}; next run: ${timestamp(nextMs)}`
  },
})
