/** Starts Jobs by a schedule (upstream: pkg/controller/cronjob; KEP-19, KEP-3140). */
import { runsOf } from '../../api/cron/cron-job-runs.ts'
import { localZoneName } from '../../api/cron/time-zone.ts'
import type { CronJob, Job } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { InformerEvent } from '../../client/informer.ts'
import { controllerOf, keyOf } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { unlessGone } from '../gone-owners.ts'
import { createOwnWrites } from '../own-writes.ts'
import { indexByController } from '../pod-indexes.ts'
import { syncCronJob } from './cron-job-sync.ts'
import type { CronJobSync } from './cron-job-sync.ts'
import { nextRunInMs } from './due-run.ts'

/** Runs until `signal` aborts. `localZone` is that of schedules which name none; default: this process's. */
export async function runCronJobController(
  context: ControllerContext,
  signal: AbortSignal,
  localZone?: string,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, recorder, options } = context
  let zone = localZone
  const cronJobs = informers.informer<CronJob>(resources.cronJobs)
  const jobs = informers.informer<Job>(resources.jobs)
  indexByController(jobs)
  const sync: CronJobSync = {
    cronJobs,
    jobs,
    cronJobClient: client.resource<CronJob>(resources.cronJobs),
    jobClient: client.resource<Job>(resources.jobs),
    jobWrites: createOwnWrites(jobs, clock),
    statusWrites: createOwnWrites(cronJobs, clock),
    recorder,
    dialect,
    localZone: () => (zone ??= localZoneName()),
    clock,
    metrics: context.metrics.cronJob,
  }
  const queue = queues('cronjob', { initialMs: 1000, maxMs: 60_000 })
  cronJobs.onEvent((event) => {
    const delayMs = delayOf(sync, event)
    if (delayMs !== undefined) queue.addAfter(keyOf(event.object), delayMs)
  })
  await runController(
    {
      name: 'cronjob-controller',
      queue,
      informers: [source(cronJobs, () => []), source(jobs, (job) => ownerKeys(sync, job))],
      reconcile: unlessGone(
        { owners: cronJobs, client: sync.cronJobClient, ownWrites: sync.jobWrites },
        (key) => syncCronJob(sync, key),
      ),
      workers: options['concurrent-cron-job-syncs'],
      clock,
      log,
    },
    signal,
  )
}

/** At once, but for a new schedule: runs that it would have had before it was written are no missed ones. */
function delayOf(
  { clock, localZone, recorder }: CronJobSync,
  event: InformerEvent<CronJob>,
): number | undefined {
  const { object } = event
  if (event.type !== 'update') return 0
  const { spec: old } = event.old
  const isSameSchedule =
    old?.schedule === object.spec?.schedule && old?.timeZone === object.spec?.timeZone
  if (isSameSchedule) return 0
  try {
    return nextRunInMs(object, runsOf(object, localZone), clock.now()) ?? 0
  } catch {
    const message = `unparseable schedule for cronjob: ${object.spec?.schedule}`
    recorder.record(object, { type: 'Warning', reason: 'UnParseableCronJobSchedule', message })
    return undefined
  }
}

function ownerKeys({ cronJobClient }: CronJobSync, job: Job): string[] {
  const controller = controllerOf(job)
  if (controller?.kind !== cronJobClient.resource.kind) return []
  return [`${job.metadata.namespace ?? ''}/${controller.name}`]
}

export const cronJobController: ControllerEntry = {
  name: 'cronjob-controller',
  aliases: ['cronjob'],
  defaultOn: true,
  start: runCronJobController,
}
