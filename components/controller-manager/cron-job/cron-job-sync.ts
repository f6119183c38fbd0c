/** One sync of a CronJob: follows its Jobs, keeps their history, and starts the run that is due (upstream: syncCronJob). */
import { runsOf, type NextRun } from '../../api/cron/cron-job-runs.ts'
import { isTimeZone } from '../../api/cron/time-zone.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { CronJob, CronJobStatus, Job } from '../../api/generated/types.ts'
import type { Result } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { timestamp } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { finishedCondition } from '../job/job-conditions.ts'
import { isNamespaceEnding } from '../namespace-state.ts'
import type { OwnWrites } from '../own-writes.ts'
import { controlledBy } from '../pod-indexes.ts'
import { jobName, jobOfRun, surplusJobs } from './cron-job-jobs.ts'
import type { CronJobMetrics } from './cron-job-metrics.ts'
import { dueRun, nextRunInMs } from './due-run.ts'

export interface CronJobSync {
  readonly cronJobs: Informer<CronJob>
  readonly jobs: Informer<Job>
  readonly cronJobClient: ResourceClient<CronJob>
  readonly jobClient: ResourceClient<Job>
  readonly jobWrites: OwnWrites
  readonly statusWrites: OwnWrites
  readonly recorder: EventRecorder
  readonly dialect: Dialect
  /** Of schedules without a zone. */
  readonly localZone: () => string
  readonly clock: Clock
  readonly metrics: CronJobMetrics
}

/** A CronJob under way: `status` is changed in place, and written at the end. */
interface Run {
  readonly sync: CronJobSync
  readonly cronJob: CronJob
  readonly status: CronJobStatus
  readonly jobs: readonly Job[]
}

export async function syncCronJob(sync: CronJobSync, key: string): Promise<Result | void> {
  const { cronJobs, jobWrites, statusWrites, cronJobClient } = sync
  const cronJob = cronJobs.get(key)
  if (cronJob === undefined) return
  // A cache older than our own acts would make Jobs look lost, or forgotten.
  const pendingMs = jobWrites.pendingMs(key) ?? statusWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  const jobs = controlledBy(sync.jobs, cronJob).owned
  const run = { sync, cronJob, status: copyJson<CronJobStatus>(cronJob.status ?? {}), jobs }
  try {
    await keepHistory(run)
    await followJobs(run)
    return await startRun(run)
  } finally {
    // Writes the finished part even if a later step failed.
    if (!deepEqual(cronJob.status ?? {}, run.status)) {
      statusWrites.wrote(key, await cronJobClient.updateStatus({ ...cronJob, status: run.status }))
    }
  }
}

function tell({ sync, cronJob }: Run, type: 'Normal' | 'Warning', reason: string, message: string) {
  sync.recorder.record(cronJob, { type, reason, message })
}

function forgetActive(status: CronJobStatus, uid: string | undefined): void {
  const active = (status.active ?? []).filter((one) => one.uid !== uid)
  if (active.length === 0) delete status.active
  else status.active = active
}

async function keepHistory(run: Run): Promise<void> {
  for (const job of surplusJobs(run.cronJob, run.jobs)) {
    try {
      await deleteJob(run, job)
    } catch {
      // deleteJob has recorded the failure; the next sync tries again.
    }
  }
}

async function deleteJob(run: Run, job: Job): Promise<void> {
  const { sync, cronJob, status } = run
  const { namespace, name = '', uid = '' } = job.metadata
  try {
    await sync.jobClient.delete(
      { namespace, name },
      { propagationPolicy: 'Background', preconditions: { uid } },
    )
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) {
      tell(run, 'Warning', 'FailedDelete', `Deleted job: ${messageOf(error)}`)
      throw error
    }
  }
  sync.jobWrites.deleted(keyOf(cronJob), job)
  forgetActive(status, uid)
  tell(run, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`)
}

/** Brings the list of active Jobs and the time of the last success up to date. */
async function followJobs(run: Run): Promise<void> {
  const { sync, status, jobs } = run
  for (const job of jobs) {
    const { name = '', uid } = job.metadata
    const isActive = status.active?.some((one) => one.uid === uid) ?? false
    const finished = finishedCondition(job)
    if (!isActive && finished === undefined) {
      const message = `Saw a job that the controller did not create or forgot: ${name}`
      tell(run, 'Warning', 'UnexpectedJob', message)
    }
    if (isActive && finished !== undefined) {
      forgetActive(status, uid)
      const message = `Saw completed job: ${name}, status: ${finished.type}`
      tell(run, 'Normal', 'SawCompletedJob', message)
    }
    const { completionTime } = job.status ?? {}
    if (finished?.type !== 'Complete' || completionTime === undefined) continue
    const { lastSuccessfulTime } = status
    const isLater =
      lastSuccessfulTime === undefined ||
      Date.parse(completionTime) > Date.parse(lastSuccessfulTime)
    if (isLater) status.lastSuccessfulTime = completionTime
  }
  const known = new Set(jobs.map(({ metadata }) => metadata.uid))
  for (const { namespace, name = '', uid } of status.active ?? []) {
    if (known.has(uid) || (await exists(sync, { namespace, name, uid }))) continue
    tell(run, 'Normal', 'MissingJob', `Active job went missing: ${name}`)
    forgetActive(status, uid)
  }
}

async function exists(
  { jobClient }: CronJobSync,
  {
    namespace,
    name,
    uid,
  }: { namespace: string | undefined; name: string; uid: string | undefined },
): Promise<boolean> {
  try {
    return (await jobClient.get({ namespace, name })).metadata.uid === uid
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return false
    throw error
  }
}

async function startRun(run: Run): Promise<Result | void> {
  const { sync, cronJob } = run
  const next = scheduleOf(run)
  if (next === undefined) return
  const nowMs = sync.clock.now()
  let due
  try {
    due = dueRun(cronJob, next, nowMs)
  } catch (error) {
    const schedule = cronJob.spec?.schedule ?? ''
    tell(run, 'Warning', 'InvalidSchedule', `invalid schedule: ${schedule} : ${messageOf(error)}`)
    return
  }
  if (due.hasMissedMany) {
    const message =
      'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew'
    tell(run, 'Warning', 'TooManyMissedTimes', message)
  }
  if (due.atMs !== undefined && mayStart(run, due.atMs, nowMs)) {
    if (cronJob.spec?.concurrencyPolicy === 'Replace') await replaceActive(run)
    await createJob(run, due.atMs)
  }
  const waitMs = nextRunInMs({ ...cronJob, status: run.status }, next, nowMs)
  return waitMs === undefined ? undefined : { requeueAfterMs: waitMs }
}

/** Undefined for a CronJob that starts nothing, and says why if its spec is at fault. */
function scheduleOf(run: Run): NextRun | undefined {
  const { sync, cronJob } = run
  const { schedule = '', timeZone, suspend = false } = cronJob.spec ?? {}
  if (cronJob.metadata.deletionTimestamp !== undefined) return undefined
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const message = `invalid timeZone: ${goQuote(timeZone)}: unknown time zone ${timeZone}`
    tell(run, 'Warning', 'UnknownTimeZone', message)
    return undefined
  }
  if (suspend) return undefined
  if (schedule.includes('TZ')) {
    const message = `CRON_TZ or TZ used in schedule ${goQuote(schedule)} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`
    tell(run, 'Warning', 'UnsupportedSchedule', message)
  }
  try {
    return runsOf(cronJob, sync.localZone)
  } catch (error) {
    const message = `unparseable schedule: ${goQuote(schedule)} : ${messageOf(error)}`
    tell(run, 'Warning', 'UnparseableSchedule', message)
    return undefined
  }
}

function mayStart(run: Run, runMs: number, nowMs: number): boolean {
  const { cronJob, status } = run
  const { startingDeadlineSeconds = Infinity, concurrencyPolicy } = cronJob.spec ?? {}
  if (runMs + startingDeadlineSeconds * 1000 < nowMs) {
    // `Wed, 01 Jan 2025 00:00:00 +0000`
    const at = new Date(runMs).toUTCString().replace('GMT', '+0000')
    tell(run, 'Warning', 'MissSchedule', `Missed scheduled time to start a job: ${at}`)
    return false
  }
  const active = status.active ?? []
  const isStarted = active.some(({ name }) => name === jobName(cronJob, runMs))
  if (isStarted || Date.parse(status.lastScheduleTime ?? '') === runMs) return false
  if (concurrencyPolicy !== 'Forbid' || active.length === 0) return true
  const message =
    'Not starting job because prior execution is running and concurrency policy is Forbid'
  tell(run, 'Normal', 'JobAlreadyActive', message)
  return false
}

async function replaceActive(run: Run): Promise<void> {
  const { sync, status } = run
  for (const { namespace, name = '' } of status.active ?? []) {
    let job: Job
    try {
      job = await sync.jobClient.get({ namespace, name })
    } catch (error) {
      tell(run, 'Warning', 'FailedGet', `Get job: ${messageOf(error)}`)
      throw error
    }
    await deleteJob(run, job)
  }
}

async function createJob(run: Run, runMs: number): Promise<void> {
  const { sync, cronJob, status } = run
  const { jobClient, cronJobClient, jobWrites, dialect } = sync
  const wanted = jobOfRun(cronJob, runMs, { resource: cronJobClient.resource, dialect })
  let job: Job
  try {
    job = await jobClient.create(wanted)
    const createdMs = Date.parse(job.metadata.creationTimestamp ?? '')
    sync.metrics.creationSkew.observe((createdMs - runMs) / 1000)
    tell(run, 'Normal', 'SuccessfulCreate', `Created job ${job.metadata.name}`)
  } catch (error) {
    if (isNamespaceEnding(error)) return
    if (!isStatusError(error, 'AlreadyExists')) {
      tell(run, 'Warning', 'FailedCreate', `Error creating job: ${messageOf(error)}`)
      throw error
    }
    const { namespace, name = '' } = wanted.metadata
    job = await jobClient.get({ namespace, name })
    // Made before, and not written down since: by us, unless it is another's.
    const isOurs = job.metadata.ownerReferences?.some(({ uid }) => uid === cronJob.metadata.uid)
    if (isOurs !== true) return
  }
  jobWrites.wrote(keyOf(cronJob), job)
  const { namespace, name, uid, resourceVersion } = job.metadata
  const { resource } = jobClient
  const reference = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
  }
  const isKnown = status.active?.some((one) => one.uid === uid) ?? false
  if (!isKnown && finishedCondition(job) === undefined) {
    status.active = [...(status.active ?? []), reference]
  }
  status.lastScheduleTime = timestamp(runMs)
}
