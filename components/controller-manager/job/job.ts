/** Runs Jobs to their end (upstream: pkg/controller/job). */
import type { Job, Pod } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { InformerEvent } from '../../client/informer.ts'
import { matchesLabels } from '../../machinery/selectors/label-selector.ts'
import { controllerOf, keyOf } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { unlessGone } from '../gone-owners.ts'
import { createOwnWrites } from '../own-writes.ts'
import { indexByController, indexByNamespace, inNamespace } from '../pod-indexes.ts'
import { createPodControl } from '../replica-set/pod-control.ts'
import { countHeldPod } from './job-metrics.ts'
import { isManagedElsewhere, jobRules } from './job-rules.ts'
import type { JobSync } from './job-sync.ts'
import { jobSelector, syncJob } from './job-sync.ts'
import { orphanKeys, orphansOf, syncOrphanPod } from './orphan-pods.ts'
import type { OrphanSync } from './orphan-pods.ts'
import { createReleasedPods } from './released-pods.ts'

/** Events of pods, and of a Job's status, are handled together after this time. */
const batchMs = 1000
/** Upstream's delays between retries of a Job. */
const retryDelays = { initialMs: 1000, maxMs: 60_000 }

/** Runs until `signal` aborts. */
export async function runJobController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const sync = createJobSync(context)
  const { jobs: jobClient, pods: podClient, rules } = sync.tools
  const { resource } = jobClient
  const orphans = { jobs: sync.jobs, pods: sync.pods, podClient, resource, rules }
  await Promise.all([runJobs(context, sync, signal), runOrphans(context, orphans, signal)])
}

function createJobSync(context: ControllerContext): JobSync {
  const { client, informers, resources, dialect, clock, recorder, gates, metrics } = context
  const jobs = informers.informer<Job>(resources.jobs)
  const pods = informers.informer<Pod>(resources.pods)
  indexByController(pods)
  indexByNamespace(jobs)
  const jobClient = client.resource<Job>(resources.jobs)
  const podClient = client.resource<Pod>(resources.pods)
  const rules = jobRules(dialect, gates)
  const tools = {
    jobs: jobClient,
    pods: podClient,
    control: createPodControl({ pods: podClient, recorder, resource: resources.jobs }),
    podWrites: createOwnWrites(pods, clock),
    jobWrites: createOwnWrites(jobs, clock),
    released: createReleasedPods(pods, rules.finalizer),
    rules,
    clock,
    metrics: metrics.job,
  }
  return { jobs, pods, tools, recorder, backoffs: new Map() }
}

async function runJobs(
  { queues, clock, log, options }: ControllerContext,
  sync: JobSync,
  signal: AbortSignal,
): Promise<void> {
  const { jobs, pods, backoffs } = sync
  const { metrics, rules } = sync.tools
  const queue = queues('job', retryDelays)
  jobs.onEvent((event) => {
    const key = keyOf(event.object)
    const { managedBy = '' } = event.object.spec ?? {}
    if (event.type === 'add' && isManagedElsewhere(event.object, rules))
      metrics.countManagedElsewhere(managedBy)
    // The next Job of this name begins without the failures of this one.
    if (event.type === 'delete') backoffs.delete(key)
    queue.addAfter(key, isNews(event) ? 0 : batchMs)
  })
  const wake = (pod: Pod): void => {
    for (const key of jobsOf(sync, pod)) queue.addAfter(key, batchMs)
  }
  pods.onEvent((event) => {
    countHeldPod(metrics, event, rules)
    if (event.type === 'update') wake(event.old)
    wake(event.object)
  })
  const informers = [source(jobs, () => []), source(pods, () => [])]
  const { jobs: client, podWrites: ownWrites } = sync.tools
  const reconcile = unlessGone({ owners: jobs, client, ownWrites }, (key) => syncJob(sync, key))
  const workers = options['concurrent-job-syncs']
  const name = 'job-controller'
  await runController({ name, informers, reconcile, workers, clock, log, queue }, signal)
}

/** A new Job, a changed spec, or a Job that went; a status, which changes with every pod, can wait. */
function isNews(event: InformerEvent<Job>): boolean {
  if (event.type !== 'update') return true
  return event.old.metadata.generation !== event.object.metadata.generation
}

/** The Job that a pod names, or every Job that would adopt it. */
function jobsOf({ jobs, tools }: JobSync, pod: Pod): string[] {
  const controller = controllerOf(pod)
  const { namespace = '', labels } = pod.metadata
  if (controller !== undefined) {
    return controller.kind === tools.jobs.resource.kind ? [`${namespace}/${controller.name}`] : []
  }
  return inNamespace(jobs, namespace)
    .filter((job) => matchesLabels(jobSelector(job), labels))
    .map(keyOf)
}

async function runOrphans(
  { queues, clock, log }: ControllerContext,
  sync: OrphanSync,
  signal: AbortSignal,
): Promise<void> {
  await runController(
    {
      name: 'job-controller',
      queue: queues('job_orphan_pod', retryDelays),
      informers: [
        source(sync.pods, (pod) => orphanKeys(sync, pod)),
        source(sync.jobs, (job) => orphansOf(sync, job)),
      ],
      reconcile: (key) => syncOrphanPod(sync, key),
      clock,
      log,
    },
    signal,
  )
}

export const jobController: ControllerEntry = {
  name: 'job-controller',
  aliases: ['job'],
  defaultOn: true,
  start: runJobController,
}
