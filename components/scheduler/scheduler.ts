/**
 * Scheduler: takes the next pod, finds it a node, counts it there at once and binds it; reports why a pod fits nowhere.
 * One decision is one synchronous step over the snapshot; only bindings and reports are in flight at the same time.
 */
import type { Pod } from '../api/generated/types.ts'
import type { ResourceClient } from '../client/resource-client.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Log } from '../component-base/log.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import type { Diagnosis } from './fit-error.ts'
import { fitMessage } from './fit-error.ts'
import type { Plugins } from './find-node.ts'
import { createNodeFinder } from './find-node.ts'
import type { PodInfo } from './pod-info.ts'
import { podInfoOf } from './pod-info.ts'
import type { PodReporter } from './pod-reporter.ts'
import type { Eviction } from './preemption.ts'
import { findEviction } from './preemption.ts'
import type { QueuedPod, SchedulingQueue } from './scheduling-queue.ts'
import type { Snapshot } from './snapshot.ts'

export interface SchedulerOptions {
  readonly pods: ResourceClient<Pod>
  readonly queue: SchedulingQueue
  readonly snapshot: Snapshot
  readonly plugins: Plugins
  readonly reporter: PodReporter
  /** The newest form of a pod that still waits for a node, by key: what a failed binding goes on with. */
  readonly waitingPod: (key: string) => Pod | undefined
  readonly clock: Clock
  readonly log: Log
  readonly percentageOfNodesToScore?: number
  /** Bindings in flight; more wait. */
  readonly parallelism?: number
  readonly metrics?: SchedulerMetrics
}

/** The scheduler's counts; times are in seconds. */
export interface SchedulerMetrics {
  attempt(result: 'scheduled' | 'unschedulable' | 'error', seconds: number): void
  /** A pod was bound after so many attempts, so long after it came to the queue. */
  scheduled(attempts: number, seconds: number): void
}

/** True for a pod that waits for this scheduler: not bound, not ending, not gated, and addressed to it. */
export function isWaiting(pod: Pod, schedulerName: string): boolean {
  return (
    !pod.spec?.nodeName &&
    pod.metadata.deletionTimestamp === undefined &&
    (pod.spec?.schedulerName || 'default-scheduler') === schedulerName &&
    (pod.spec?.schedulingGates?.length ?? 0) === 0 &&
    pod.status?.phase !== 'Succeeded' &&
    pod.status?.phase !== 'Failed'
  )
}

/** Runs until the signal aborts, then waits for the bindings in flight. */
export async function runScheduler(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const { queue, snapshot, plugins, clock, log, percentageOfNodesToScore } = options
  const { parallelism = 64 } = options
  const findNode = createNodeFinder({
    plugins,
    snapshot,
    ...(percentageOfNodesToScore === undefined ? {} : { percentageOfNodesToScore }),
  })
  const inFlight = new Set<Promise<void>>()
  const launch = (info: PodInfo, work: Promise<void>): void => {
    const reported = work.catch((error: unknown) => {
      log.warn('reporting on a pod failed', { pod: info.key, error })
    })
    const tracked: Promise<void> = reported.finally(() => inFlight.delete(tracked))
    inFlight.add(tracked)
  }
  try {
    for (;;) {
      const queued = await queue.pop(signal)
      const startedMs = clock.now()
      const decision = findNode(queued.info)
      if (decision.ok) {
        snapshot.assume(queued.info, decision.node.name)
        launch(queued.info, bind(options, queued, { nodeName: decision.node.name, startedMs }))
      } else {
        options.metrics?.attempt('unschedulable', (clock.now() - startedMs) / 1000)
        launch(queued.info, handleUnschedulable(options, queued, decision.diagnosis))
      }
      if (inFlight.size >= parallelism) await Promise.race(inFlight)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await Promise.allSettled(inFlight)
  }
}

async function bind(
  options: SchedulerOptions,
  queued: QueuedPod,
  { nodeName, startedMs }: { readonly nodeName: string; readonly startedMs: number },
): Promise<void> {
  const { pods, reporter, clock, log, metrics } = options
  const { info } = queued
  const { namespace = '', name = '' } = info.pod.metadata
  try {
    await pods.createSubresource({ namespace, name }, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { namespace, name, uid: info.uid },
      target: { kind: 'Node', name: nodeName },
    })
  } catch (error) {
    metrics?.attempt('error', (clock.now() - startedMs) / 1000)
    await handleBindingFailure(options, queued, { nodeName, error })
    return
  }
  metrics?.attempt('scheduled', (clock.now() - startedMs) / 1000)
  metrics?.scheduled(queued.attempts, (clock.now() - queued.queuedAtMs) / 1000)
  log.debug('bound', { pod: info.key, node: nodeName })
  reporter.scheduled(info, nodeName)
}

/** Forgets the assumed pod and, if it still waits for a node, queues its newest form after a back-off. */
async function handleBindingFailure(
  { queue, snapshot, reporter, waitingPod, log }: SchedulerOptions,
  queued: QueuedPod,
  { nodeName, error }: { readonly nodeName: string; readonly error: unknown },
): Promise<void> {
  const { info } = queued
  snapshot.forget(info)
  queue.changed('pod-removed')
  const now = waitingPod(info.key)
  if (now === undefined || now.metadata.uid !== info.uid) return
  queued.info = podInfoOf(now)
  log.warn('binding failed; the pod is tried again', { pod: info.key, node: nodeName, error })
  queue.addBackoff(queued)
  // The pod was just deleted, or bound by another scheduler: there is nothing to report.
  if (isStatusError(error, 'NotFound', 'Conflict')) return
  await reporter.failed(info, {
    reason: 'SchedulerError',
    message: `binding rejected: ${error instanceof Error ? error.message : String(error)}`,
  })
}

/** Looks for pods to preempt, and reports why the pod fits nowhere. */
async function handleUnschedulable(
  { queue, snapshot, plugins, reporter }: SchedulerOptions,
  queued: QueuedPod,
  diagnosis: Diagnosis,
): Promise<void> {
  const { info } = queued
  const outcome =
    diagnosis.nodeCount === 0
      ? undefined
      : findEviction({ pod: info, snapshot, filters: plugins.filters, diagnosis })
  const eviction = outcome?.ok === true ? outcome.eviction : undefined
  if (eviction !== undefined) snapshot.nominate(info, eviction.node.name)
  else snapshot.withdraw(info.key)
  queue.addUnschedulable(queued, diagnosis.rejectedBy)
  await reporter.failed(info, {
    reason: 'Unschedulable',
    message: fitMessage(diagnosis, outcome?.ok === false ? outcome.why : undefined),
    nominatedNodeName: eviction?.node.name ?? '',
  })
  if (eviction !== undefined) await preempt(reporter, info, eviction)
}

async function preempt(
  reporter: PodReporter,
  info: PodInfo,
  { node, victims }: Eviction,
): Promise<void> {
  for (const victim of victims) {
    if (victim.pod.metadata.deletionTimestamp !== undefined) continue
    await reporter.preempt(info, victim, node.name)
  }
}
