/** The scheduler's process: flags, informers, listener, leadership, and the scheduling loop. */
import { dialectNamed, dialects } from '../api/dialect.ts'
import type { Namespace, Node, Pod } from '../api/generated/types.ts'
import { servedRelease } from '../api/lifecycle.ts'
import { resourcesOf } from '../api/resources.ts'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/client.ts'
import { openComponentListener } from '../client/component-listener.ts'
import { createEventRecorder } from '../client/event-recorder.ts'
import type { EventRecorder } from '../client/event-recorder.ts'
import { createInformerFactory } from '../client/informer.ts'
import type { Informer, InformerFactory } from '../client/informer.ts'
import { connectionFrom, readKubeconfig } from '../client/kubeconfig.ts'
import { electionIdentity, runLeaderElection } from '../client/leader-elector.ts'
import { aborted } from '../component-base/aborted.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { runComponent, StartError } from '../component-base/component.ts'
import { FlagError } from '../component-base/flags.ts'
import { createMetrics, declareProcessMetrics, showHiddenFault } from '../component-base/metrics.ts'
import type { Metrics } from '../component-base/metrics.ts'
import { createClusterEvents } from './cluster-events.ts'
import { scheduler } from './options.ts'
import type { schedulerFlags } from './options.ts'
import { defaultPlugins } from './plugins.ts'
import { createPodReporter } from './pod-reporter.ts'
import { createSchedulerMetrics } from './scheduler-metrics.ts'
import { isWaiting, runScheduler } from './scheduler.ts'
import type { SchedulerOptions } from './scheduler.ts'
import { SchedulingQueue } from './scheduling-queue.ts'
import { Snapshot } from './snapshot.ts'

type Context = ComponentContext<typeof schedulerFlags>

async function connect({ options, clock, log }: Context): Promise<Client> {
  if (options.kubeconfig === undefined) throw new StartError('--kubeconfig is required')
  const connection = await connectionFrom(await readKubeconfig(options.kubeconfig))
  return createClient({
    ...connection,
    ...(options.master === undefined ? {} : { server: options.master }),
    dialect: dialectNamed(options.dialect) ?? dialects.kubernetes,
    userAgent: 'kube-scheduler',
    clock,
    log,
  })
}

function metricsOf({ options }: Context): Metrics {
  const showHidden = options['show-hidden-metrics-for-version']
  const hiddenFault = showHiddenFault(showHidden, servedRelease)
  if (hiddenFault !== undefined) throw new FlagError(hiddenFault)
  const metrics = createMetrics({ release: servedRelease, showHidden: showHidden !== '' })
  declareProcessMetrics(metrics)
  return metrics
}

/** Keeps queue and snapshot equal to the cluster; gives the informers of it all, and of pods. */
function followCluster(
  client: Client,
  { options, clock, log }: Context,
  { queue, snapshot }: { readonly queue: SchedulingQueue; readonly snapshot: Snapshot },
): { readonly informers: InformerFactory; readonly pods: Informer<Pod> } {
  const resources = resourcesOf(client.dialect)
  const informers = createInformerFactory(client, clock, log)
  const pods = informers.informer<Pod>(resources.pods, {
    fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
  })
  const schedulerName = options['scheduler-name']
  const events = createClusterEvents({ queue, snapshot, schedulerName })
  pods.onEvent(events.onPod)
  informers.informer<Node>(resources.nodes).onEvent(events.onNode)
  informers.informer<Namespace>(resources.namespaces).onEvent(({ type, object: { metadata } }) => {
    const labels = type === 'delete' ? undefined : (metadata.labels ?? {})
    snapshot.setNamespace(metadata.name ?? '', labels)
  })
  return { informers, pods }
}

interface SchedulerParts {
  readonly informers: InformerFactory
  readonly recorder: EventRecorder
  readonly metrics: Metrics
  /** Schedules until the signal aborts. */
  readonly schedule: (signal: AbortSignal) => Promise<void>
}

function createScheduler(client: Client, context: Context): SchedulerParts {
  const { options, clock, log } = context
  const resources = resourcesOf(client.dialect)
  const schedulerName = options['scheduler-name']
  const snapshot = new Snapshot()
  const queue = new SchedulingQueue({
    clock,
    initialBackoffMs: options['pod-initial-backoff-seconds'] * 1000,
    maxBackoffMs: options['pod-max-backoff-seconds'] * 1000,
    maxUnschedulableMs: options['pod-max-in-unschedulable-pods-duration'],
  })
  const metrics = metricsOf(context)
  const cluster = followCluster(client, context, { queue, snapshot })
  const events = client.resource(resources.events)
  const recorder = createEventRecorder({ events, component: schedulerName, clock, log })
  const pods = client.resource<Pod>(resources.pods)
  const reporter = createPodReporter({
    pods,
    record: ({ metadata }, event) => {
      recorder.record({ apiVersion: 'v1', kind: 'Pod', metadata }, event)
    },
    clock,
    schedulerName,
  })
  const scheduling: SchedulerOptions = {
    pods,
    queue,
    snapshot,
    plugins: defaultPlugins(client.dialect),
    reporter,
    waitingPod: (key) => {
      const pod = cluster.pods.get(key)
      return pod !== undefined && isWaiting(pod, schedulerName) ? pod : undefined
    },
    clock,
    log,
    percentageOfNodesToScore: options['percentage-of-nodes-to-score'],
    parallelism: options.parallelism,
    metrics: createSchedulerMetrics(metrics, queue, schedulerName),
  }
  const schedule = (signal: AbortSignal): Promise<void> => runScheduler(scheduling, signal)
  return { informers: cluster.informers, recorder, metrics, schedule }
}

/** Schedules, while this process leads if there is an election. */
async function lead(
  client: Client,
  { options, clock, log }: Context,
  { recorder, schedule, signal }: SchedulerParts & { readonly signal: AbortSignal },
): Promise<void> {
  if (!options['leader-elect']) {
    await schedule(signal)
    return
  }
  await runLeaderElection(
    {
      leases: client.resource(resourcesOf(client.dialect).leases),
      namespace: options['leader-elect-resource-namespace'] ?? client.dialect.systemNamespace,
      name: options['leader-elect-resource-name'],
      identity: electionIdentity(clock, options['leader-elect-identity']),
      recorder,
      clock,
      log,
      leaseDurationMs: options['leader-elect-lease-duration'],
      renewDeadlineMs: options['leader-elect-renew-deadline'],
      retryPeriodMs: options['leader-elect-retry-period'],
    },
    schedule,
    signal,
  )
}

async function run(context: Context): Promise<void> {
  const { options, clock, log } = context
  const client = await connect(context)
  const scheduler = createScheduler(client, context)
  const { informers, recorder, metrics } = scheduler
  let isSynced = false
  const server = await openComponentListener({
    flags: options,
    client,
    notReady: () => (isSynced ? undefined : 'waiting for the first list of pods and nodes'),
    metrics: () => metrics.text(),
    clock,
    log,
  })
  // The part that ends first ends the rest: a scheduler without its informers or its lease must not go on.
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const work = async (): Promise<void> => {
    const at = await server?.ready
    await Promise.race([informers.ready(), aborted(signal)])
    if (signal.aborted) return
    isSynced = true
    context.ready(at === undefined ? {} : { port: at.port })
    await lead(client, context, { ...scheduler, signal })
  }
  const parts = [informers.run(signal), recorder.run(signal)]
  if (server !== undefined) parts.push(server.run(signal))
  parts.push(work())
  try {
    await Promise.all(parts.map((part) => part.finally(() => stop.abort(new Error('stopping')))))
  } finally {
    client.close()
  }
}

await runComponent({
  ...scheduler,
  run,
})
