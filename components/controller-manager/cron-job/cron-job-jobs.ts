/** The Jobs of a CronJob: their names, how they are made, and which are kept (upstream: pkg/controller/cronjob). Pure. */
import { timeZoneNamed } from '../../api/cron/time-zone.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { CronJob, Job } from '../../api/generated/types.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { controllerReference } from '../claim.ts'
import { finishedCondition } from '../job/job-conditions.ts'

/** One name for one run, so that it is never started twice. */
export function jobName({ metadata }: CronJob, runMs: number): string {
  return `${metadata.name}-${Math.floor(runMs / 60_000)}`
}

export function jobOfRun(
  cronJob: CronJob,
  runMs: number,
  { resource, dialect }: { readonly resource: Resource; readonly dialect: Dialect },
): Job {
  const { metadata, spec } = cronJob
  const { jobTemplate, timeZone = '' } = spec ?? { jobTemplate: {} }
  const { labels, annotations } = jobTemplate.metadata ?? {}
  const scheduledKey = labelKey(dialect, 'batch', 'cronjob-scheduled-timestamp')
  return copyJson<Job>({
    metadata: {
      name: jobName(cronJob, runMs),
      namespace: metadata.namespace ?? '',
      ...(labels && { labels }),
      annotations: { ...annotations, [scheduledKey]: timeZoneNamed(timeZone).textOf(runMs) },
      ownerReferences: [controllerReference(cronJob, resource)],
    },
    ...(jobTemplate.spec && { spec: jobTemplate.spec }),
  })
}

/** Finished Jobs beyond the history limits, the oldest first. Jobs that are being deleted count no more. */
export function surplusJobs({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const ended = (type: string): Job[] =>
    jobs.filter(
      (job) =>
        finishedCondition(job)?.type === type && job.metadata.deletionTimestamp === undefined,
    )
  return [
    ...oldest(ended('Complete'), spec?.successfulJobsHistoryLimit),
    ...oldest(ended('Failed'), spec?.failedJobsHistoryLimit),
  ]
}

/** All but the last `kept`. */
function oldest(jobs: readonly Job[], kept = Infinity): Job[] {
  const started = ({ status }: Job): number =>
    status?.startTime === undefined ? Infinity : Date.parse(status.startTime)
  const byStart = (a: Job, b: Job): number => {
    const [one, other] = [started(a), started(b)]
    if (one !== other) return one < other ? -1 : 1
    return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
  }
  return jobs.toSorted(byStart).slice(0, Math.max(0, jobs.length - kept))
}
