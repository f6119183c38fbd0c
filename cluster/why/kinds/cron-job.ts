/** CronJobs that never run, are suspended, missed a run, or whose last Job failed. */
import { parseCron } from '../../../components/api/cron/cron-schedule.ts'
import { nextCronTime } from '../../../components/api/cron/next-time.ts'
import { isTimeZone, localZoneName, timeZoneNamed } from '../../../components/api/cron/time-zone.ts'
import type { CronJob, Job } from '../../../components/api/generated/types.ts'
import { timestamp } from '../../../components/component-base/clock.ts'
import { messageOf } from '../../../components/component-base/log.ts'
import { controllerOf } from '../../../components/machinery/objects/object.ts'
import { conditionOf, conditionsSeen, eventsSeen, seen } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import type { Related } from '../related.ts'

/** The controller starts a run within this time of its moment, unless something keeps it from it. */
const usualDelayMs = 30_000

type Runs =
  | { readonly ok: true; readonly next: (afterMs: number) => number | undefined }
  | { readonly ok: false; readonly why: string }

function runsOf({ spec }: CronJob): Runs {
  try {
    const schedule = parseCron(spec?.schedule ?? '')
    const own = schedule.kind === 'fields' ? schedule.zone : undefined
    const zoneName = own ?? spec?.timeZone ?? localZoneName()
    if (zoneName !== '' && !isTimeZone(zoneName)) {
      return { ok: false, why: `unknown time zone ${zoneName}` }
    }
    const zone = timeZoneNamed(zoneName)
    return { ok: true, next: (afterMs) => nextCronTime(schedule, zone, afterMs) }
  } catch (error) {
    return { ok: false, why: messageOf(error) }
  }
}

function jobsOf({ metadata }: CronJob, { jobs }: Related): Job[] {
  const own = jobs.filter((job) => controllerOf(job)?.uid === metadata.uid)
  const started = ({ metadata: { creationTimestamp } }: Job): number =>
    Date.parse(creationTimestamp ?? '')
  return own.map((job) => ({ ...job, kind: 'Job' })).toSorted((a, b) => started(b) - started(a))
}

function scheduleFinding(cronJob: CronJob, related: Related): Finding | undefined {
  const runs = runsOf(cronJob)
  const schedule = cronJob.spec?.schedule
  if (!runs.ok) {
    return {
      cause: 'InvalidSchedule',
      message: `The schedule "${schedule}" cannot be read: ${runs.why}.`,
      evidence: [
        seen(cronJob, `spec.schedule is "${schedule}"`),
        ...eventsSeen(related, cronJob, ['UnParseableCronJobSchedule', 'UnknownTimeZone']),
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

/** A run whose moment has passed and that did not begin. */
function missedFinding(cronJob: CronJob, related: Related): Finding | undefined {
  const runs = runsOf(cronJob)
  const { lastScheduleTime } = cronJob.status ?? {}
  const sinceText = lastScheduleTime ?? cronJob.metadata.creationTimestamp ?? ''
  const dueMs = runs.ok ? runs.next(Date.parse(sinceText)) : undefined
  if (dueMs === undefined || dueMs + usualDelayMs > related.nowMs) return undefined
  const active = cronJob.status?.active ?? []
  const isBlocked = cronJob.spec?.concurrencyPolicy === 'Forbid' && active.length > 0
  const { startingDeadlineSeconds: deadline } = cronJob.spec ?? {}
  return {
    cause: isBlocked ? 'StillRunning' : 'MissedRun',
    message: isBlocked
      ? `The run of ${timestamp(dueMs)} waits: concurrencyPolicy is Forbid, and ${active[0]?.name} still runs.`
      : `The run of ${timestamp(dueMs)} has not begun.`,
    evidence: [
      seen(cronJob, `the last run was ${lastScheduleTime ?? 'never'}`, lastScheduleTime),
      ...eventsSeen(related, cronJob, [
        'MissSchedule',
        'TooManyMissedTimes',
        'FailedNeedsStart',
        'FailedCreate',
        'JobAlreadyActive',
      ]),
    ],
    next: [
      isBlocked
        ? `see why it still runs: skiff why job ${active[0]?.name} -n ${cronJob.metadata.namespace}`
        : deadline === undefined
          ? 'check that the controller manager runs: skiff status'
          : `raise spec.startingDeadlineSeconds (${deadline}), and check that the controller manager runs: skiff status`,
    ],
  }
}

function lastJobFinding(cronJob: CronJob, related: Related): Finding | undefined {
  const [last] = jobsOf(cronJob, related)
  if (last === undefined || conditionOf(last, 'Failed')?.status !== 'True') return undefined
  return {
    cause: 'LastJobFailed',
    message: `The last Job, ${last.metadata.name}, failed.`,
    evidence: conditionsSeen(last, 'Failed'),
    next: [`see why: skiff why job ${last.metadata.name} -n ${last.metadata.namespace}`],
  }
}

function explainCronJob(given: CronJob, related: Related): Finding[] {
  const cronJob: CronJob = { ...given, kind: 'CronJob' }
  const schedule = scheduleFinding(cronJob, related)
  if (schedule !== undefined) return [schedule]
  const suspended = suspendedFinding(cronJob)
  if (suspended !== undefined) return [suspended]
  const failed = eventsSeen(related, cronJob, ['FailedCreate'])
  const missed = missedFinding(cronJob, related)
  const creation: Finding | undefined =
    failed.length === 0 || missed !== undefined
      ? undefined
      : {
          cause: 'JobsNotCreated',
          message: `A Job could not be created: ${failed[0]?.text}`,
          evidence: failed,
          next: ['correct what the event names'],
        }
  return [missed, creation, lastJobFinding(cronJob, related)].filter((one) => one !== undefined)
}

export const cronJob = defineExplainer<CronJob>({
  needs: (object) => [
    eventsNeed(object),
    { of: 'jobs', namespace: object.metadata.namespace ?? '' },
  ],
  explain: explainCronJob,
  state: (object, { nowMs }) => {
    if (object.spec?.suspend === true) return 'Suspended'
    const runs = runsOf(object)
    const nextMs = runs.ok ? runs.next(nowMs) : undefined
    const last = object.status?.lastScheduleTime ?? 'never'
    return nextMs === undefined
      ? `last run: ${last}`
      : `last run: ${last}; next run: ${timestamp(nextMs)}`
  },
})
