/**
 * Scales workloads by their metrics (upstream: pkg/controller/podautoscaler/horizontal.go; KEP-853 for behaviors, KEP-1610
 * for metrics of containers). Each autoscaler is looked at once a sync period, whatever changes or fails in between.
 */
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
  Pod,
} from '../../api/generated/types.ts'
import type { Result } from '../../client/controller.ts'
import { runController, source } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { createDiscovery } from '../../client/server-resources.ts'
import type { Discover } from '../../client/server-resources.ts'
import { timestamp } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { qualifiedName } from '../../machinery/objects/resource.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createKindFinder } from '../kind-finder.ts'
import { indexByNamespace } from '../pod-indexes.ts'
import { startReconciliation } from './autoscaler-metrics.ts'
import type { Reconciliation } from './autoscaler-metrics.ts'
import { draftStatus } from './autoscaler-status.ts'
import { meteredReplicas } from './metered-replicas.ts'
import type { Look, Meter, Metered } from './metered-replicas.ts'
import { createMetricsClient } from './metrics-client.ts'
import { readScaleTarget, resourceOfReference } from './scale-target.ts'
import type { ScaleTarget } from './scale-target.ts'
import { normalizeReplicas, withChange } from './scaling-rules.ts'
import type { History } from './scaling-rules.ts'
import { TargetPods } from './target-pods.ts'

/** The caches, clients and memory of the reconciler. */
interface AutoscalerSync extends Meter {
  readonly autoscalers: Informer<HorizontalPodAutoscaler>
  readonly autoscalerClient: ResourceClient<HorizontalPodAutoscaler>
  readonly readTarget: (of: HorizontalPodAutoscaler) => Promise<ScaleTarget>
  /** By the autoscaler's key. */
  readonly histories: Map<string, History>
  readonly downscaleStabilizationMs: number
  readonly recorder: EventRecorder
  readonly log: Log
}

/** A look that is measured. */
interface MeasuredLook extends Look {
  readonly reconciliation: Reconciliation
}

/** Runs until `signal` aborts. `discover` finds the kinds of custom resources. */
export async function runHorizontalPodAutoscaler(
  discover: Discover,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { informers, resources, clock, log, queues, options } = context
  const autoscalers = informers.informer<HorizontalPodAutoscaler>(
    resources.horizontalPodAutoscalers,
  )
  const pods = informers.informer<Pod>(resources.pods)
  indexByNamespace(pods)
  const targetPods = new TargetPods(pods)
  const sync = createSync({ ...context, autoscalers, targetPods }, discover, signal)
  const periodMs = options['horizontal-pod-autoscaler-sync-period']
  const name = 'horizontal-pod-autoscaler-controller'
  const queue = queues('horizontalpodautoscaler')
  // A change waits for the period too: the controller's own writes must not make it look again at once.
  autoscalers.onEvent(({ type, object }) => {
    // What is deleted does not make the selectors of others ambiguous.
    if (type === 'delete') sync.targetPods.forget(keyOf(object))
    queue.addAfter(keyOf(object), periodMs)
  })
  await runController(
    {
      name,
      informers: [source(autoscalers, () => []), source(pods, () => [])],
      reconcile: async (key): Promise<Result | void> => {
        if (await syncAutoscaler(sync, key, signal)) return { requeueAfterMs: periodMs }
      },
      workers: options['concurrent-horizontal-pod-autoscaler-syncs'],
      queue,
      clock,
      log,
    },
    signal,
  )
}

function createSync(
  context: ControllerContext & Pick<AutoscalerSync, 'autoscalers' | 'targetPods'>,
  discover: Discover,
  signal: AbortSignal,
): AutoscalerSync {
  const { client, resources, clock, log, recorder, options, autoscalers, targetPods } = context
  const kinds = createKindFinder(resources.all, discover)
  return {
    autoscalers,
    autoscalerClient: client.resource<HorizontalPodAutoscaler>(resources.horizontalPodAutoscalers),
    targetPods,
    readTarget: ({ metadata: { namespace = '' }, spec }) =>
      readScaleTarget(
        { client, kinds, signal },
        namespace,
        spec?.scaleTargetRef ?? { kind: '', name: '' },
      ),
    reader: {
      metrics: createMetricsClient(client, resources, signal),
      settings: {
        tolerance: options['horizontal-pod-autoscaler-tolerance'],
        cpuInitializationMs: options['horizontal-pod-autoscaler-cpu-initialization-period'],
        initialReadinessMs: options['horizontal-pod-autoscaler-initial-readiness-delay'],
      },
      describe: async (of) => ({
        resource: qualifiedName(await resourceOfReference(kinds, of)),
        name: of.name,
      }),
      now: () => clock.now(),
    },
    histories: new Map(),
    downscaleStabilizationMs: options['horizontal-pod-autoscaler-downscale-stabilization'],
    metrics: context.metrics.autoscaler,
    recorder,
    clock,
    log,
  }
}

/** Resolves with false when the autoscaler is gone. */
async function syncAutoscaler(
  sync: AutoscalerSync,
  key: string,
  signal: AbortSignal,
): Promise<boolean> {
  const autoscaler = sync.autoscalers.get(key)
  if (autoscaler === undefined) {
    sync.histories.delete(key)
    sync.targetPods.forget(key)
    return false
  }
  const draft = draftStatus(autoscaler.status, timestamp(sync.clock.now()))
  const warn = (reason: string, message: string): void =>
    sync.recorder.record(autoscaler, { type: 'Warning', reason, message })
  const reconciliation = startReconciliation(sync.metrics, sync.clock)
  try {
    await scale(sync, { key, autoscaler, draft, warn, reconciliation }, signal)
    reconciliation.ended()
  } catch (error) {
    if (signal.aborted) return false
    reconciliation.ended(error)
    sync.log.warn('autoscaler not synced; trying again', { key, why: messageOf(error) })
  }
  return true
}

async function readTarget(
  sync: AutoscalerSync,
  look: Look,
  signal: AbortSignal,
): Promise<ScaleTarget> {
  const { autoscaler, draft } = look
  try {
    const target = await sync.readTarget(autoscaler)
    const message = "the HPA controller was able to get the target's current scale"
    draft.set('AbleToScale', true, { reason: 'SucceededGetScale', message })
    return target
  } catch (error) {
    signal.throwIfAborted()
    const why = messageOf(error)
    look.warn('FailedGetScale', why)
    const message = `the HPA controller was unable to get the target's current scale: ${why}`
    draft.set('AbleToScale', false, { reason: 'FailedGetScale', message })
    await writeStatus(sync, look, draft.conditionsOnly())
    throw error
  }
}

async function scale(sync: AutoscalerSync, look: MeasuredLook, signal: AbortSignal): Promise<void> {
  const { key, autoscaler, draft } = look
  const { spec, status: old } = autoscaler
  if (spec === undefined) return
  const target = await readTarget(sync, look, signal)
  const { specReplicas: current } = target
  if (!sync.histories.has(key)) {
    const recommendations = [{ replicas: current, atMs: sync.clock.now() }]
    sync.histories.set(key, { recommendations, changes: [] })
  }
  const decision = await decide(sync, look, target)
  signal.throwIfAborted()
  const { metered } = decision
  if (decision.replicas === undefined) {
    const { lastScaleTime, desiredReplicas = 0 } = old ?? {}
    const kept = { currentReplicas: current, desiredReplicas, lastScaleTime }
    await writeStatus(sync, look, draft.finished({ ...kept, metrics: metered.statuses }))
    const error = metered.error ?? ''
    look.warn('FailedComputeMetricsReplicas', error)
    throw new Error(
      `failed to compute desired number of replicas based on listed metrics: ${error}`,
    )
  }
  const desired = decision.replicas
  if (desired !== current) {
    const { reason } = decision
    await resize(sync, look, { target, desired, reason, metrics: metered.statuses })
  }
  const lastScaleTime = desired === current ? old?.lastScaleTime : timestamp(sync.clock.now())
  const numbers = { currentReplicas: current, desiredReplicas: desired, lastScaleTime }
  await writeStatus(sync, look, draft.finished({ ...numbers, metrics: metered.statuses }))
  if (metered.error !== undefined) throw new Error(metered.error)
}

/** The replicas to have, and why; undefined when the metrics do not say. */
async function decide(
  sync: AutoscalerSync,
  look: Look,
  target: ScaleTarget,
): Promise<{ replicas: number | undefined; reason: string; metered: Metered }> {
  const { autoscaler, draft } = look
  const { minReplicas: min = 1, maxReplicas: max = 1, behavior } = autoscaler.spec ?? {}
  const { specReplicas: current } = target
  const metered: Metered = { statuses: [] }
  if (current === 0 && min !== 0) {
    const message = 'scaling is disabled since the replica count of the target is zero'
    draft.set('ScalingActive', false, { reason: 'ScalingDisabled', message })
    return { replicas: 0, reason: '', metered }
  }
  if (current > max) {
    const reason = 'Current number of replicas above Spec.MaxReplicas'
    return { replicas: max, reason, metered }
  }
  if (current < min) {
    const reason = 'Current number of replicas below Spec.MinReplicas'
    return { replicas: min, reason, metered }
  }
  const measured = await meteredReplicas(sync, look, target)
  const { wanted } = measured
  if (wanted === undefined) return { replicas: undefined, reason: '', metered: measured }
  const { history, able, limited, replicas } = normalizeReplicas({
    desired: wanted.replicas,
    current,
    min,
    max,
    ...(behavior === undefined ? {} : { behavior }),
    history: sync.histories.get(look.key) ?? { recommendations: [], changes: [] },
    downscaleStabilizationMs: sync.downscaleStabilizationMs,
    nowMs: sync.clock.now(),
  })
  sync.histories.set(look.key, history)
  draft.set('AbleToScale', true, able)
  draft.set('ScalingLimited', limited.isLimited, limited)
  const isUp = wanted.replicas > current
  const isDown = wanted.replicas < current
  const reason = isUp ? `${wanted.metric} above target` : isDown ? 'All metrics below target' : ''
  return { replicas, reason, metered: measured }
}

async function resize(
  sync: AutoscalerSync,
  look: MeasuredLook,
  to: {
    target: ScaleTarget
    desired: number
    reason: string
    metrics: readonly MetricStatus[]
  },
): Promise<void> {
  const { key, autoscaler, draft } = look
  const { target, desired, reason, metrics } = to
  const { specReplicas: current } = target
  try {
    await target.resize(desired)
  } catch (error) {
    const why = messageOf(error)
    look.warn('FailedRescale', `New size: ${desired}; reason: ${reason}; error: ${why}`)
    const message = `the HPA controller was unable to update the target scale: ${why}`
    draft.set('AbleToScale', false, { reason: 'FailedUpdateScale', message })
    const { lastScaleTime, desiredReplicas = 0 } = autoscaler.status ?? {}
    const kept = { currentReplicas: current, desiredReplicas, lastScaleTime }
    await writeStatus(sync, look, draft.finished({ ...kept, metrics }))
    throw error
  }
  const message = `the HPA controller was able to update the target scale to ${desired}`
  draft.set('AbleToScale', true, { reason: 'SucceededRescale', message })
  sync.recorder.record(autoscaler, {
    type: 'Normal',
    reason: 'SuccessfulRescale',
    message: `New size: ${desired}; reason: ${reason}`,
  })
  look.reconciliation.scaled(current, desired)
  const history = sync.histories.get(key)
  if (history !== undefined && autoscaler.spec?.behavior !== undefined)
    sync.histories.set(key, withChange(history, desired - current, sync.clock.now()))
}

/** Writes nothing when the status is this one already. */
async function writeStatus(
  sync: AutoscalerSync,
  look: Look,
  status: HorizontalPodAutoscalerStatus,
): Promise<void> {
  const { autoscaler } = look
  // The server shows an absent list as null.
  const { currentMetrics, ...old } = autoscaler.status ?? { desiredReplicas: 0 }
  if (deepEqual(currentMetrics ? { ...old, currentMetrics } : old, status)) return
  try {
    await sync.autoscalerClient.updateStatus({ ...autoscaler, status })
  } catch (error) {
    look.warn('FailedUpdateStatus', messageOf(error))
    throw error
  }
}

export const horizontalPodAutoscalerController: ControllerEntry = {
  name: 'horizontal-pod-autoscaler-controller',
  aliases: ['horizontalpodautoscaling'],
  eventSource: 'horizontal-pod-autoscaler',
  defaultOn: true,
  start: (context, signal) =>
    runHorizontalPodAutoscaler(createDiscovery(context.client), context, signal),
}
