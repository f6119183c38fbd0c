/** The scheduler from its flags to its end: flags, informers, listener, leadership, and the scheduling loop. */
import { dialectNamed, dialects } from '../api/dialect.ts'
import { parseFeatureGates } from '../api/feature-gates.ts'
import type { FeatureGates } from '../api/feature-gates.ts'
import type { Namespace, Node, Pod } from '../api/generated/types.ts'
import type { PodExplanation } from '../api/pod-explanation.ts'
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
import { createRestObserver } from '../client/rest-metrics.ts'
import type { RestObserver } from '../client/rest-observer.ts'
import { aborted } from '../component-base/aborted.ts'
import type { Clock } from '../component-base/clock.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { StartError } from '../component-base/component.ts'
import { FlagError } from '../component-base/flags.ts'
import { createMetrics, declareProcessMetrics, showHiddenFault } from '../component-base/metrics.ts'
import type { Metrics } from '../component-base/metrics.ts'
import type {
  LeaderElectionSettings,
  SchedulerSettings,
} from './configuration/kube-scheduler-configuration.ts'
import { countedProfile } from './counted-profile.ts'
import { createEventHandlers, followRegistered } from './event-handlers.ts'
import type { HandleEvent } from './event-handlers.ts'
import { measuredProfile } from './measured-profile.ts'
import type { schedulerFlags } from './options.ts'
import { explainPod } from './explain-pod.ts'
import type { Extender } from './extender.ts'
import { createExtender } from './extender.ts'
import type { DeviceSupport } from './plugin.ts'
import { podInfoOf } from './pod-info.ts'
import { createPodReporter } from './pod-reporter.ts'
import type { Profile } from './profile.ts'
import { createProfile } from './profile.ts'
import {
  createEvaluationCounters,
  createEventMetrics,
  createHintMetrics,
  createPluginMetrics,
  createQueueMetrics,
  createSchedulerMetrics,
} from './scheduler-metrics.ts'
import type { SchedulerOptions } from './schedule-one.ts'
import { runScheduler } from './scheduler.ts'
import { isWaiting, schedulerNameOf } from './waiting-pod.ts'
import { SchedulingQueue } from './scheduling-queue.ts'
import { settingsOf } from './settings.ts'
import { Snapshot } from './snapshot.ts'

type Context = ComponentContext<typeof schedulerFlags>

async function connect(
  { options, files, network, underWay, clock, log }: Context,
  { kubeconfig = options.kubeconfig }: SchedulerSettings,
  observer: RestObserver,
): Promise<Client> {
  if (kubeconfig === undefined) throw new StartError('--kubeconfig is required')
  const connection = await connectionFrom(await readKubeconfig(kubeconfig, files), { files })
  return createClient({
    ...connection,
    ...(options.master === undefined ? {} : { server: options.master }),
    network,
    underWay,
    dialect: dialectNamed(options.dialect) ?? dialects.kubernetes,
    userAgent: 'kube-scheduler',
    observer,
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

/** A gate that is unknown or locked keeps the process from starting. */
function gatesOf({ options, log }: Context): FeatureGates {
  try {
    const { gates, warnings } = parseFeatureGates(options['feature-gates'])
    for (const warning of warnings) log.warn(warning)
    return gates
  } catch (error) {
    throw new FlagError((error as Error).message)
  }
}

/** The expression language is large: it is loaded only where pods may have devices. */
async function loadDevices(gates: FeatureGates): Promise<DeviceSupport | undefined> {
  if (!gates.DynamicResourceAllocation) return undefined
  const [{ compileDeviceSelector }, { keepCompiled }] = await Promise.all([
    import('../cel/device-selector.ts'),
    import('./plugins/dynamic-resources/compiled-selectors.ts'),
  ])
  return { compile: keepCompiled(compileDeviceSelector), allowsAdminAccess: gates.DRAAdminAccess }
}

interface Parts {
  readonly queue: SchedulingQueue
  readonly snapshot: Snapshot
  readonly profiles: ReadonlyMap<string, Profile>
  readonly informers: InformerFactory
  readonly handle: HandleEvent
}

/** Keeps queue and snapshot equal to the cluster; gives the informer of pods. */
function followCluster(
  client: Client,
  { queue, snapshot, profiles, informers, handle }: Parts,
): Informer<Pod> {
  const resources = resourcesOf(client.dialect)
  const pods = informers.informer<Pod>(resources.pods, {
    fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
  })
  const handlers = createEventHandlers({
    queue,
    snapshot,
    schedulerNames: new Set(profiles.keys()),
    handle,
  })
  pods.onEvent(handlers.onPod)
  informers.informer<Node>(resources.nodes).onEvent(handlers.onNode)
  informers.informer<Namespace>(resources.namespaces).onEvent(({ type, object: { metadata } }) => {
    const labels = type === 'delete' ? undefined : (metadata.labels ?? {})
    snapshot.setNamespace(metadata.name ?? '', labels)
  })
  followRegistered(client, { queue, profiles, informers, handle })
  return pods
}

interface SchedulerParts {
  readonly informers: InformerFactory
  /** One for each profile. */
  readonly recorders: readonly EventRecorder[]
  /** Schedules until the signal aborts. */
  readonly schedule: (signal: AbortSignal) => Promise<void>
  /** What it thinks of a pod without a node, by `/explain/pods/NAMESPACE/NAME`; undefined for any other path. */
  readonly explain: (path: string) => Promise<PodExplanation | undefined>
}

/** The profiles, and the queue that their plugins order. */
function createQueue(
  client: Client,
  context: Context,
  parts: {
    readonly settings: SchedulerSettings
    readonly extenders: readonly Extender[]
    readonly devices: DeviceSupport | undefined
    readonly snapshot: Snapshot
    readonly informers: InformerFactory
    readonly metrics: Metrics
  },
): { readonly queue: SchedulingQueue; readonly profiles: ReadonlyMap<string, Profile> } {
  const { options, clock, log } = context
  const { settings, snapshot, informers, metrics } = parts
  const { dialect } = client
  const { extenders, devices } = parts
  const handle = {
    dialect,
    client,
    informers,
    namespaces: snapshot,
    extenders,
    devices,
    clock,
    log,
  }
  const made = settings.profiles.map((profile) => createProfile(profile, handle))
  const [first] = made
  if (first === undefined) throw new StartError('no profile is configured')
  const profiles = new Map(made.map((profile) => [profile.schedulerName, profile]))
  const queue = new SchedulingQueue({
    clock,
    queueSort: first.queueSort,
    pluginsFor: ({ pod }) => profiles.get(schedulerNameOf(pod)) ?? first,
    initialBackoffMs: settings.podInitialBackoffMs,
    maxBackoffMs: settings.podMaxBackoffMs,
    maxUnschedulableMs: options['pod-max-in-unschedulable-pods-duration'],
    onIncoming: createQueueMetrics(metrics),
    onHint: createHintMetrics(metrics),
  })
  return { queue, profiles }
}

/** A file that cannot be read keeps the process from starting. */
function makeExtenders({ extenders }: SchedulerSettings): Extender[] {
  return extenders.map((extender) => {
    try {
      return createExtender(extender)
    } catch (error) {
      throw new StartError(`extender ${extender.urlPrefix}: ${(error as Error).message}`, error)
    }
  })
}

function createScheduler(
  client: Client,
  context: Context,
  {
    settings,
    devices,
    metrics,
  }: { settings: SchedulerSettings; devices: DeviceSupport | undefined; metrics: Metrics },
): SchedulerParts {
  const { clock, log } = context
  const resources = resourcesOf(client.dialect)
  const snapshot = new Snapshot()
  const informers = createInformerFactory(client, clock, log)
  const extenders = makeExtenders(settings)
  const { queue, profiles } = createQueue(client, context, {
    settings,
    extenders,
    devices,
    snapshot,
    informers,
    metrics,
  })
  const handle = createEventMetrics(metrics, clock)
  const pods = followCluster(client, { queue, snapshot, profiles, informers, handle })
  const recorders = createRecorders(client, context, profiles)
  const reporter = createPodReporter({
    pods: client.resource<Pod>(resources.pods),
    record: (from, { metadata }, event) => {
      recorders.get(from)?.record({ apiVersion: 'v1', kind: 'Pod', metadata }, event)
    },
    clock,
  })
  const scheduling: SchedulerOptions = {
    queue,
    snapshot,
    ...instrumented(profiles, metrics, clock),
    extenders,
    reporter,
    waitingPod: (key) => {
      const pod = pods.get(key)
      return pod !== undefined && isWaiting(pod, profiles) ? pod : undefined
    },
    clock,
    log,
    parallelism: settings.parallelism,
    metrics: createSchedulerMetrics(metrics, queue, snapshot),
  }
  const schedule = (signal: AbortSignal): Promise<void> => runScheduler(scheduling, signal)
  const explain = createExplain({ pods, profiles, snapshot })
  return { informers, recorders: [...recorders.values()], schedule, explain }
}

/** One for each profile, by its name. */
function createRecorders(
  client: Client,
  { clock, log }: Context,
  profiles: ReadonlyMap<string, Profile>,
): ReadonlyMap<string, EventRecorder> {
  const events = client.resource(resourcesOf(client.dialect).events)
  return new Map(
    [...profiles.keys()].map((component) => [
      component,
      createEventRecorder({ events, component, clock, log }),
    ]),
  )
}

/** The profiles as attempts use them: all count their plugins' runs, and some time them. Explanations use the bare ones. */
function instrumented(
  profiles: ReadonlyMap<string, Profile>,
  metrics: Metrics,
  clock: Clock,
): Pick<SchedulerOptions, 'profiles' | 'measured'> {
  const countersOf = createEvaluationCounters(metrics)
  const observe = createPluginMetrics(metrics)
  const counted = new Map(
    [...profiles].map(([name, profile]) => [name, countedProfile(profile, countersOf(name))]),
  )
  const measured = new Map(
    [...counted].map(([name, profile]) => [name, measuredProfile(profile, clock, observe)]),
  )
  return { profiles: counted, measured }
}

function createExplain(parts: {
  readonly pods: Pick<Informer<Pod>, 'get'>
  readonly profiles: ReadonlyMap<string, Profile>
  readonly snapshot: Snapshot
}): SchedulerParts['explain'] {
  const { pods, profiles, snapshot } = parts
  return async (path) => {
    const [, key = ''] = /^\/explain\/pods\/([^/]+\/[^/]+)$/.exec(path) ?? []
    const pod = pods.get(key)
    if (pod === undefined) return undefined
    const schedulerName = schedulerNameOf(pod)
    if (!isWaiting(pod, new Set([schedulerName]))) return undefined
    const profile = profiles.get(schedulerName)
    if (profile === undefined) return { schedulerName, profiles: [...profiles.keys()], nodes: [] }
    return await explainPod({ pod: podInfoOf(pod), profile, snapshot })
  }
}

/** Schedules, while this process leads if there is an election. */
async function lead(
  client: Client,
  { options, clock, log }: Context,
  parts: SchedulerParts & {
    readonly election: LeaderElectionSettings
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { recorders, schedule, election, signal } = parts
  if (!election.leaderElect) {
    await schedule(signal)
    return
  }
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = election
  await runLeaderElection(
    {
      leases: client.resource(resourcesOf(client.dialect).leases),
      namespace: election.resourceNamespace ?? client.dialect.systemNamespace,
      name: election.resourceName,
      identity: electionIdentity(clock, options['leader-elect-identity']),
      ...(recorders[0] === undefined ? {} : { recorder: recorders[0] }),
      clock,
      log,
      leaseDurationMs,
      renewDeadlineMs,
      retryPeriodMs,
    },
    schedule,
    signal,
  )
}

/** Until the signal aborts. Rejects with a StartError or FlagError for what the flags say. */
export async function runSchedulerProcess(context: Context): Promise<void> {
  const { options, files, clock, log } = context
  const settings = settingsOf(options)
  const gates = gatesOf(context)
  for (const warning of settings.warnings) log.warn(warning)
  const metrics = metricsOf(context)
  const client = await connect(context, settings, createRestObserver(metrics, clock))
  const devices = await loadDevices(gates)
  const scheduler = createScheduler(client, context, { settings, devices, metrics })
  const { informers, recorders } = scheduler
  let isSynced = false
  const server = await openComponentListener({
    flags: options,
    client,
    notReady: () => (isSynced ? undefined : 'waiting for the first list of pods and nodes'),
    metrics: () => metrics.text(),
    more: scheduler.explain,
    files,
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
    await lead(client, context, { ...scheduler, election: settings.leaderElection, signal })
  }
  const parts = [informers.run(signal), ...recorders.map((recorder) => recorder.run(signal))]
  if (server !== undefined) parts.push(server.run(signal))
  parts.push(work())
  try {
    await Promise.all(parts.map((part) => part.finally(() => stop.abort(new Error('stopping')))))
  } finally {
    client.close()
  }
}
