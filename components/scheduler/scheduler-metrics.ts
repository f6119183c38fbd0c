/** The scheduler's metrics under upstream's names. */
import { deprecatedMetrics } from '../api/lifecycles/lifecycles.ts'
import type { Metrics } from '../component-base/metrics.ts'
import type { SchedulerMetrics } from './schedule-one.ts'
import type { QueuePart, SchedulingQueue } from './scheduling-queue.ts'
import type { Snapshot } from './snapshot.ts'

/** Upper bounds in seconds, upstream's: so many of them, each twice the one before. */
function doubling(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first * 2 ** index)
}

/** Counts attempts and bindings, and shows how many pods wait where. */
export function createSchedulerMetrics(
  metrics: Metrics,
  queue: Pick<SchedulingQueue, 'sizes' | 'rejections'>,
  snapshot: Pick<Snapshot, 'sizes'>,
): SchedulerMetrics {
  const { attempts, seconds } = declareAttempts(metrics)
  const { needed, sli, older } = declareScheduled(metrics)
  const { points, algorithm } = declareDurations(metrics)
  const preemption = declarePreemption(metrics)
  observeSizes(metrics, queue, snapshot)
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
  }
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

function declareDurations(metrics: Metrics) {
  const points = metrics.histogram({
    name: 'scheduler_framework_extension_point_duration_seconds',
    help: 'Duration of all plugins of an extension point, in seconds.',
    stability: 'STABLE',
    labels: ['extension_point', 'status', 'profile'],
    buckets: doubling(0.0001, 12),
  })
  const algorithm = metrics.histogram({
    name: 'scheduler_scheduling_algorithm_duration_seconds',
    help: 'Duration of the choice of a node, in seconds.',
    buckets: doubling(0.001, 15),
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
    buckets: doubling(1, 7),
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
    buckets: doubling(0.001, 15),
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
    buckets: doubling(0.01, 20),
  })
  const name = 'scheduler_pod_scheduling_duration_seconds'
  const { stability, deprecated } = deprecatedMetrics[name]
  const older = metrics.histogram({
    name,
    help: 'Time from the arrival of a pod to its binding, in seconds. Replaced by scheduler_pod_scheduling_sli_duration_seconds.',
    stability,
    deprecatedFrom: deprecated,
    labels: ['attempts'],
    buckets: doubling(0.01, 20),
  })
  return { needed, sli, older }
}
