/** The scheduler's metrics under upstream's names. */
import { deprecatedMetrics } from '../api/lifecycles/lifecycles.ts'
import type { Clock } from '../component-base/clock.ts'
import { exponentialBuckets } from '../component-base/metrics.ts'
import type { Counter, Metrics } from '../component-base/metrics.ts'
import type { CountedPoint } from './counted-profile.ts'
import type { HandleEvent } from './event-handlers.ts'
import type { PluginRun } from './measured-profile.ts'
import type { SchedulerMetrics } from './schedule-one.ts'
import type { AskedHint, QueuePart, SchedulingQueue } from './scheduling-queue.ts'
import type { Snapshot } from './snapshot.ts'

/** Counts attempts and bindings, and shows how many pods wait where. */
export function createSchedulerMetrics(
  metrics: Metrics,
  queue: Pick<SchedulingQueue, 'sizes' | 'rejections' | 'inFlight'>,
  snapshot: Pick<Snapshot, 'sizes'>,
): SchedulerMetrics {
  const { attempts, seconds } = declareAttempts(metrics)
  const { needed, sli, older } = declareScheduled(metrics)
  const { points, algorithm } = declareDurations(metrics)
  const preemption = declarePreemption(metrics)
  const during = createWorkCount(metrics)
  observeSizes(metrics, queue, snapshot)
  observeInFlight(metrics, queue)
  return {
    attempt: (profile, result, took) => {
      attempts.with(result, profile).inc()
      seconds.with(profile, result).observe(took)
    },
    scheduled: (tries, waited) => {
      needed.observe(tries)
      const label = tries > 15 ? '16+' : String(tries)
      sli.with(label).observe(waited)
      older.with(label).observe(waited)
    },
    extensionPoint: (point, ran) => {
      points.with(point, ran.status, ran.profile).observe(ran.seconds)
    },
    algorithm: (took) => algorithm.observe(took),
    preemption: (victims) => {
      preemption.attempts.inc()
      if (victims > 0) preemption.victims.observe(victims)
    },
    during,
  }
}

/** Counts what upstream does in goroutines of their own: filters and scores, which it runs so too, take turns here. */
function createWorkCount(metrics: Metrics): SchedulerMetrics['during'] {
  const running = metrics.gauge({
    name: 'scheduler_goroutines',
    help: 'Number of running goroutines split by the work they do such as binding.',
    labels: ['operation'],
  })
  return async (operation, run) => {
    const own = running.with(operation)
    own.inc()
    try {
      return await run()
    } finally {
      own.dec()
    }
  }
}

function observeInFlight(metrics: Metrics, queue: Pick<SchedulingQueue, 'inFlight'>): void {
  metrics.observed(
    {
      kind: 'gauge',
      name: 'scheduler_inflight_events',
      help: 'Number of events currently tracked in the scheduling queue.',
      labels: ['event'],
    },
    () => [...queue.inFlight].map(([label, value]) => ({ labels: [label], value })),
  )
}

/** Counts that are taken when the metrics are shown. */
function observeSizes(
  metrics: Metrics,
  queue: Pick<SchedulingQueue, 'sizes' | 'rejections'>,
  snapshot: Pick<Snapshot, 'sizes'>,
): void {
  metrics.observed(
    {
      kind: 'gauge',
      name: 'scheduler_pending_pods',
      help: 'Pending pods, by part of the queue.',
      stability: 'STABLE',
      labels: ['queue'],
    },
    () => Object.entries(queue.sizes).map(([part, value]) => ({ labels: [part], value })),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: 'scheduler_unschedulable_pods',
      help: 'Pods that a plugin keeps waiting.',
      labels: ['plugin', 'profile'],
    },
    () =>
      [...queue.rejections()].map(({ plugin, profile, pods }) => ({
        labels: [plugin, profile],
        value: pods,
      })),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: 'scheduler_scheduler_cache_size',
      help: 'Nodes, pods and assumed pods that the scheduler knows.',
      labels: ['type'],
    },
    () => Object.entries(snapshot.sizes).map(([type, value]) => ({ labels: [type], value })),
  )
}

/** Counts pods that come into a part of the queue, by the event that brought them. */
export function createQueueMetrics(metrics: Metrics): (part: QueuePart, event: string) => void {
  const incoming = metrics.counter({
    name: 'scheduler_queue_incoming_pods_total',
    help: 'Pods that came into a part of the queue, by event.',
    stability: 'STABLE',
    labels: ['queue', 'event'],
  })
  return (part, event) => incoming.with(part, event).inc()
}

/** Upper bounds of plugins' times: finer than others, since plugins are quick. */
const pluginBounds = exponentialBuckets(0.00001, 1.5, 20)

/** Tells the runs of plugins that are timed. */
export function createPluginMetrics(metrics: Metrics): (run: PluginRun) => void {
  const seconds = metrics.histogram({
    name: 'scheduler_plugin_execution_duration_seconds',
    help: 'Duration for running a plugin at a specific extension point.',
    labels: ['plugin', 'extension_point', 'status'],
    buckets: pluginBounds,
  })
  return (run) => seconds.with(run.plugin, run.point, run.status).observe(run.seconds)
}

/** Gives the counters of a profile's plugins, which are shown from the start. */
export function createEvaluationCounters(
  metrics: Metrics,
): (profile: string) => (plugin: string, point: CountedPoint) => Counter {
  const evaluations = metrics.counter({
    name: 'scheduler_plugin_evaluation_total',
    help: 'Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score).',
    labels: ['plugin', 'extension_point', 'profile'],
  })
  return (profile) => (plugin, point) => evaluations.with(plugin, point, profile)
}

/** Tells the hints that the queue asks. */
export function createHintMetrics(metrics: Metrics): (asked: AskedHint) => void {
  const seconds = metrics.histogram({
    name: 'scheduler_queueing_hint_execution_duration_seconds',
    help: 'Duration for running a queueing hint function of a plugin.',
    labels: ['plugin', 'event', 'hint'],
    buckets: pluginBounds,
  })
  return ({ plugin, event, helps, seconds: took }) =>
    seconds.with(plugin, event, helps ? 'Queue' : 'QueueSkip').observe(took)
}

/** Tells how long events take to handle. */
export function createEventMetrics(metrics: Metrics, clock: Clock): HandleEvent {
  const seconds = metrics.histogram({
    name: 'scheduler_event_handling_duration_seconds',
    help: 'Event handling latency in seconds.',
    labels: ['event'],
    buckets: exponentialBuckets(0.0001, 2, 12),
  })
  return (handle) => {
    const startedMs = clock.elapsed()
    const labels = handle()
    const took = (clock.elapsed() - startedMs) / 1000
    for (const label of labels) seconds.with(label).observe(took)
  }
}

function declareDurations(metrics: Metrics) {
  const points = metrics.histogram({
    name: 'scheduler_framework_extension_point_duration_seconds',
    help: 'Duration of all plugins of an extension point, in seconds.',
    stability: 'STABLE',
    labels: ['extension_point', 'status', 'profile'],
    buckets: exponentialBuckets(0.0001, 2, 12),
  })
  const algorithm = metrics.histogram({
    name: 'scheduler_scheduling_algorithm_duration_seconds',
    help: 'Duration of the choice of a node, in seconds.',
    buckets: exponentialBuckets(0.001, 2, 15),
  })
  return { points, algorithm }
}

function declarePreemption(metrics: Metrics) {
  const attempts = metrics.counter({
    name: 'scheduler_preemption_attempts_total',
    help: 'Attempts to preempt pods.',
    stability: 'STABLE',
  })
  const victims = metrics.histogram({
    name: 'scheduler_preemption_victims',
    help: 'Pods selected to be preempted in one attempt.',
    stability: 'STABLE',
    buckets: exponentialBuckets(1, 2, 7),
  })
  return { attempts, victims }
}

function declareAttempts(metrics: Metrics) {
  const attempts = metrics.counter({
    name: 'scheduler_schedule_attempts_total',
    help: 'Attempts to schedule pods, by result.',
    stability: 'STABLE',
    labels: ['result', 'profile'],
  })
  const seconds = metrics.histogram({
    name: 'scheduler_scheduling_attempt_duration_seconds',
    help: 'Duration of an attempt to schedule, with decision and binding, in seconds.',
    stability: 'STABLE',
    labels: ['profile', 'result'],
    buckets: exponentialBuckets(0.001, 2, 15),
  })
  return { attempts, seconds }
}

function declareScheduled(metrics: Metrics) {
  const needed = metrics.histogram({
    name: 'scheduler_pod_scheduling_attempts',
    help: 'Attempts until a pod was scheduled.',
    stability: 'STABLE',
    buckets: [1, 2, 4, 8, 16],
  })
  const sli = metrics.histogram({
    name: 'scheduler_pod_scheduling_sli_duration_seconds',
    help: 'Time from the arrival of a pod to its binding, in seconds.',
    stability: 'BETA',
    labels: ['attempts'],
    buckets: exponentialBuckets(0.01, 2, 20),
  })
  const name = 'scheduler_pod_scheduling_duration_seconds'
  const { stability, deprecated } = deprecatedMetrics[name]
  const older = metrics.histogram({
    name,
    help: 'Time from the arrival of a pod to its binding, in seconds. Replaced by scheduler_pod_scheduling_sli_duration_seconds.',
    stability,
    deprecatedFrom: deprecated,
    labels: ['attempts'],
    buckets: exponentialBuckets(0.01, 2, 20),
  })
  return { needed, sli, older }
}
