/** Deletes finished Jobs once their `ttlSecondsAfterFinished` has passed (upstream: pkg/controller/ttlafterfinished; KEP-592). */
import type { Job } from '../../api/generated/types.ts'
import { runController, source, TerminalError } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Histogram } from '../../component-base/metrics.ts'
import { keyOf, splitKey } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { finishedCondition } from '../job/job-conditions.ts'

/** Milliseconds until the Job expires, 0 or less when it has; undefined for a Job that stays, goes on, or goes already. Pure. */
export function lifeLeftMs(job: Job, nowMs: number): number | undefined {
  const { ttlSecondsAfterFinished } = job.spec ?? {}
  const finished = finishedCondition(job)
  if (
    ttlSecondsAfterFinished === undefined ||
    finished === undefined ||
    job.metadata.deletionTimestamp !== undefined
  ) {
    return undefined
  }
  const finishedMs = Date.parse(finished.lastTransitionTime ?? '')
  if (Number.isNaN(finishedMs)) {
    throw new TerminalError(`unable to find the time when the Job ${keyOf(job)} finished`)
  }
  return finishedMs + ttlSecondsAfterFinished * 1000 - nowMs
}

interface TtlSync {
  readonly jobs: Informer<Job>
  readonly jobClient: ResourceClient<Job>
  readonly clock: Clock
  readonly deletionSeconds: Histogram
}

async function syncTtl(sync: TtlSync, key: string): Promise<Result | void> {
  const { jobs, jobClient, clock } = sync
  const job = jobs.get(key)
  const leftMs = job === undefined ? undefined : lifeLeftMs(job, clock.now())
  if (leftMs === undefined) return
  if (leftMs > 0) return { requeueAfterMs: leftMs }
  // The cached Job may be older than a change of its TTL, or than the Job itself.
  const { namespace, name } = splitKey(key)
  let fresh: Job
  try {
    fresh = await jobClient.get({ namespace, name })
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return
    throw error
  }
  const freshLeftMs = lifeLeftMs(fresh, clock.now())
  if (freshLeftMs === undefined) return
  if (freshLeftMs > 0) return { requeueAfterMs: freshLeftMs }
  const { uid = '' } = fresh.metadata
  await jobClient.delete(
    { namespace, name },
    { propagationPolicy: 'Foreground', preconditions: { uid } },
  )
  sync.deletionSeconds.observe(-(lifeLeftMs(fresh, clock.now()) ?? 0) / 1000)
}

/** Runs until `signal` aborts. */
export async function runTtlAfterFinished(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, clock, log, queues, options } = context
  const jobs = informers.informer<Job>(resources.jobs)
  const { deletionSeconds } = context.metrics.ttlAfterFinished
  const sync = { jobs, jobClient: client.resource<Job>(resources.jobs), clock, deletionSeconds }
  const expires = ({ metadata, spec }: Job): boolean =>
    spec?.ttlSecondsAfterFinished !== undefined && metadata.deletionTimestamp === undefined
  await runController(
    {
      name: 'ttl-after-finished-controller',
      queue: queues('ttl_jobs_to_delete'),
      informers: [source(jobs, (job) => (expires(job) ? [keyOf(job)] : []))],
      reconcile: (key) => syncTtl(sync, key),
      workers: options['concurrent-ttl-after-finished-syncs'],
      clock,
      log,
    },
    signal,
  )
}

export const ttlAfterFinishedController: ControllerEntry = {
  name: 'ttl-after-finished-controller',
  aliases: ['ttl-after-finished'],
  defaultOn: true,
  start: runTtlAfterFinished,
}
