/** The scheduler's process: flags, informers, listener, leadership, and the scheduling loop. */
import { dialectNamed, dialects } from '../api/dialect.ts'
import type { Namespace, Node, Pod } from '../api/generated/types.ts'
import { servedRelease } from '../api/lifecycle.ts'
import { resourcesOf } from '../api/resources.ts'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/client.ts'
import { openComponentListener } from '../client/component-listener.ts'
import { createEventRecorder } from '../client/event-recorder.ts'
import { createInformerFactory } from '../client/informer.ts'
import { connectionFrom, readKubeconfig } from '../client/kubeconfig.ts'
import { electionIdentity, runLeaderElection } from '../client/leader-elector.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { runComponent, StartError } from '../component-base/component.ts'
import { FlagError } from '../component-base/flags.ts'
import { createMetrics, declareProcessMetrics, showHiddenFault } from '../component-base/metrics.ts'
import { createClusterEvents } from './cluster-events.ts'
import { schedulerFlags } from './options.ts'
import { defaultPlugins } from './plugins.ts'
import { createPodReporter } from './pod-reporter.ts'
import { createSchedulerMetrics } from './scheduler-metrics.ts'
import { isWaiting, runScheduler } from './scheduler.ts'
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

async function run(context: Context): Promise<void> {
  const { options, signal, clock, log } = context
  const showHidden = options['show-hidden-metrics-for-version']
  const hiddenFault = showHiddenFault(showHidden, servedRelease)
  if (hiddenFault !== undefined) throw new FlagError(hiddenFault)
  const client = await connect(context)
  const resources = resourcesOf(client.dialect)
  const schedulerName = options['scheduler-name']
  const snapshot = new Snapshot()
  const queue = new SchedulingQueue({
    clock,
    initialBackoffMs: options['pod-initial-backoff-seconds'] * 1000,
    maxBackoffMs: options['pod-max-backoff-seconds'] * 1000,
    maxUnschedulableMs: options['pod-max-in-unschedulable-pods-duration'],
  })
  const metrics = createMetrics({ release: servedRelease, showHidden: showHidden !== '' })
  declareProcessMetrics(metrics)
  const counts = createSchedulerMetrics(metrics, queue, schedulerName)
  const informers = createInformerFactory(client, clock, log)
  const podInformer = informers.informer<Pod>(resources.pods, {
    fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
  })
  const nodeInformer = informers.informer<Node>(resources.nodes)
  const events = createClusterEvents({ queue, snapshot, schedulerName })
  podInformer.onEvent(events.onPod)
  nodeInformer.onEvent(events.onNode)
  informers.informer<Namespace>(resources.namespaces).onEvent(({ type, object: { metadata } }) => {
    snapshot.setNamespace(
      metadata.name ?? '',
      type === 'delete' ? undefined : (metadata.labels ?? {}),
    )
  })
  const recorder = createEventRecorder({
    events: client.resource(resources.events),
    component: schedulerName,
    clock,
    log,
  })
  const pods = client.resource<Pod>(resources.pods)
  const reporter = createPodReporter({
    pods,
    record: ({ metadata }, event) => {
      recorder.record({ apiVersion: 'v1', kind: 'Pod', metadata }, event)
    },
    clock,
    schedulerName,
  })

  const schedule = async (leading: AbortSignal): Promise<void> => {
    await runScheduler(
      {
        pods,
        queue,
        snapshot,
        plugins: defaultPlugins(client.dialect),
        reporter,
        waitingPod: (key) => {
          const pod = podInformer.get(key)
          return pod !== undefined && isWaiting(pod, schedulerName) ? pod : undefined
        },
        clock,
        log,
        percentageOfNodesToScore: options['percentage-of-nodes-to-score'],
        parallelism: options.parallelism,
        metrics: counts,
      },
      leading,
    )
  }
  const lead = async (leading: AbortSignal): Promise<void> => {
    if (!options['leader-elect']) {
      await schedule(leading)
      return
    }
    await runLeaderElection(
      {
        leases: client.resource(resources.leases),
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
      leading,
    )
  }

  let isSynced = false
  const server = await openComponentListener({
    flags: options,
    client,
    notReady: () => (isSynced ? undefined : 'waiting for the first list of pods and nodes'),
    metrics: () => metrics.text(),
    clock,
    log,
  })
  // Whatever ends first ends the rest: a scheduler without its informers or its lease must not go on.
  const stop = new AbortController()
  const whole = AbortSignal.any([signal, stop.signal])
  const parts = [informers.run(whole), recorder.run(whole)]
  if (server !== undefined) parts.push(server.run(whole))
  const work = async (): Promise<void> => {
    const at = await server?.ready
    const stopped = new Promise<void>((resolve) => {
      whole.addEventListener('abort', () => resolve(), { once: true })
    })
    await Promise.race([informers.ready(), stopped])
    if (whole.aborted) return
    isSynced = true
    context.ready(at === undefined ? {} : { port: at.port })
    await lead(whole)
  }
  parts.push(work())
  try {
    await Promise.all(parts.map((part) => part.finally(() => stop.abort(new Error('stopping')))))
  } finally {
    client.close()
  }
}

await runComponent({
  name: 'scheduler',
  description: 'Finds a node for every pod that has none.',
  examples: ['scheduler --kubeconfig scheduler.kubeconfig --leader-elect=false'],
  flags: schedulerFlags,
  run,
})
