/**
 * How many replicas a metric asks for (upstream: podautoscaler/replica_calculator.go, metrics/utilization.go). Pure. Amounts
 * are in thousandths of their unit.
 */
import type { Container, Pod } from '../../api/generated/types.ts'
import { quantityMilliValue } from '../../machinery/values/quantity.ts'
import { isReady, readyCondition } from '../pod-state.ts'

export interface PodMetric {
  readonly value: number
  readonly timestampMs: number
  /** The time that the value is measured over. */
  readonly windowMs: number
}

/** By the pod's name. */
export type PodMetrics = ReadonlyMap<string, PodMetric>

export interface CalculatorSettings {
  /** A ratio of usage to target this close to 1 changes nothing. */
  readonly tolerance: number
  /** For this long after its start a pod's CPU counts only while it is ready. */
  readonly cpuInitializationMs: number
  /** A pod that became unready within this time of its start counts as never ready. */
  readonly initialReadinessMs: number
}

/** A workload's pods and what is known of them. */
interface Measured {
  readonly pods: readonly Pod[]
  readonly metrics: PodMetrics
  readonly currentReplicas: number
  /** `cpu` and `memory`; undefined for a metric of another API. */
  readonly resource?: string
  /** The one container that counts; default all. */
  readonly container?: string
  readonly settings: CalculatorSettings
  readonly nowMs: number
}

export interface Proposal {
  readonly replicas: number
  /** Of one pod, on average, or of all where the target is a total. */
  readonly usage: number
  /** Percent of the requests. */
  readonly utilization?: number
}

interface Usage {
  /** Usage by target. */
  readonly ratio: number
  readonly usage: number
  readonly utilization?: number
}

/** Of replicas, and of percentages in a status. */
const mostInt32 = 2 ** 31 - 1

/** Whole replicas for an amount, however absurd the metric. */
function whole(amount: number): number {
  return Math.max(0, Math.min(mostInt32, Math.ceil(amount)))
}

function isCpuUnready(pod: Pod, metric: PodMetric, { settings, nowMs }: Measured): boolean {
  const condition = readyCondition(pod)
  const startTime = pod.status?.startTime
  if (condition === undefined || startTime === undefined) return true
  const startedMs = Date.parse(startTime)
  const changedMs = Date.parse(condition.lastTransitionTime ?? '') || 0
  if (startedMs + settings.cpuInitializationMs > nowMs) {
    return condition.status === 'False' || metric.timestampMs < changedMs + metric.windowMs
  }
  return condition.status === 'False' && startedMs + settings.initialReadinessMs > changedMs
}

/** Sorts pods by whether their metric counts. Pods that end or failed are left out, metric and all. */
function groupPods(measured: Measured) {
  const ready = new Map<string, number>()
  const unready: string[] = []
  const missing: string[] = []
  const left = new Map(measured.metrics)
  let readyPods = 0
  for (const pod of measured.pods) {
    const { name = '', deletionTimestamp } = pod.metadata
    const metric = measured.metrics.get(name)
    const phase = pod.status?.phase
    if (deletionTimestamp !== undefined || phase === 'Failed') left.delete(name)
    else if (phase === 'Pending') unready.push(name)
    else if (metric === undefined) missing.push(name)
    else if (measured.resource === 'cpu' && isCpuUnready(pod, metric, measured)) unready.push(name)
    else readyPods += 1
  }
  for (const name of unready) left.delete(name)
  for (const [name, { value }] of left) ready.set(name, value)
  return { readyPods, values: ready, unready, missing }
}

/**
 * The replicas that a usage asks for. Where pods have no usable metric the usage is taken again with a careful guess for
 * them, and a guess never turns the direction.
 */
function replicasFor(
  measured: Measured,
  usageOf: (values: ReadonlyMap<string, number>) => Usage,
  guessOf: (pod: string) => number,
): Proposal {
  const { pods, currentReplicas, settings } = measured
  if (pods.length === 0)
    throw new Error('no pods returned by selector while calculating replica count')
  const { readyPods, values, unready, missing } = groupPods(measured)
  if (values.size === 0)
    throw new Error('did not receive metrics for targeted pods (pods might be unready)')
  const { ratio, ...seen } = usageOf(values)
  const unchanged = { replicas: currentReplicas, ...seen }
  const isUpWithUnready = unready.length > 0 && ratio > 1
  if (!isUpWithUnready && missing.length === 0) {
    if (Math.abs(1 - ratio) <= settings.tolerance) return unchanged
    return { replicas: whole(ratio * readyPods), ...seen }
  }
  const guessed = new Map(values)
  for (const name of missing) guessed.set(name, ratio < 1 ? guessOf(name) : 0)
  if (isUpWithUnready) for (const name of unready) guessed.set(name, 0)
  const next = usageOf(guessed).ratio
  const isTurned = (ratio < 1 && next > 1) || (ratio > 1 && next < 1)
  if (Math.abs(1 - next) <= settings.tolerance || isTurned) return unchanged
  const replicas = whole(next * guessed.size)
  const isWrongWay =
    (next < 1 && replicas > currentReplicas) || (next > 1 && replicas < currentReplicas)
  return isWrongWay ? unchanged : { replicas, ...seen }
}

/** Regular containers, and init containers that keep running. */
function countedContainers({ spec }: Pod): readonly Container[] {
  const sidecars = (spec?.initContainers ?? []).filter((one) => one.restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...sidecars]
}

function requestOf(pod: Pod, { resource = '', container }: Measured): number {
  let sum = 0
  for (const { name, resources } of countedContainers(pod)) {
    if (container !== undefined && container !== name) continue
    const request = resources?.requests?.[resource]
    if (request === undefined) {
      throw new Error(
        `missing request for ${resource} in container ${name} of Pod ${pod.metadata.name}`,
      )
    }
    sum += quantityMilliValue(request)
  }
  return sum
}

/** For a target in percent of the requests. Throws when no pod can be counted. */
export function utilizationReplicas(measured: Measured, targetPercent: number): Proposal {
  const requests = new Map<string, number>()
  for (const pod of measured.pods) {
    requests.set(pod.metadata.name ?? '', requestOf(pod, measured))
  }
  const usageOf = (values: ReadonlyMap<string, number>): Usage => {
    let used = 0
    let requested = 0
    let entries = 0
    for (const [name, value] of values) {
      const request = requests.get(name)
      if (request === undefined) continue
      used += value
      requested += request
      entries += 1
    }
    if (requested === 0) throw new Error('no metrics returned matched known pods')
    const utilization = Math.trunc((used * 100) / requested)
    return {
      ratio: utilization / targetPercent,
      utilization: Math.min(mostInt32, utilization),
      usage: Math.trunc(used / entries),
    }
  }
  // On the way down a pod that does not report counts as using all of its request, or its target where that is more.
  const guess = Math.max(100, targetPercent)
  return replicasFor(measured, usageOf, (name) =>
    Math.trunc(((requests.get(name) ?? 0) * guess) / 100),
  )
}

/** For a target of each pod's average. Throws when no pod can be counted. */
export function averageReplicas(measured: Measured, target: number): Proposal {
  const usageOf = (values: ReadonlyMap<string, number>): Usage => {
    const usage = Math.trunc([...values.values()].reduce((sum, one) => sum + one, 0) / values.size)
    return { ratio: usage / target, usage }
  }
  return replicasFor(measured, usageOf, () => target)
}

type Total = Pick<Measured, 'pods' | 'currentReplicas'> & Pick<CalculatorSettings, 'tolerance'>

/** For a target that one value for all pods is compared to. A workload of no replicas can be scaled up by it. */
export function totalReplicas(total: number, target: number, of: Total): Proposal {
  const { pods, currentReplicas, tolerance } = of
  const ratio = total / target
  if (currentReplicas === 0) return { replicas: whole(ratio), usage: total }
  if (Math.abs(1 - ratio) <= tolerance) return { replicas: currentReplicas, usage: total }
  if (pods.length === 0) {
    const why = 'no pods returned by selector while calculating replica count'
    throw new Error(`unable to calculate ready pods: ${why}`)
  }
  const ready = pods.filter((pod) => pod.status?.phase === 'Running' && isReady(pod)).length
  return { replicas: whole(ratio * ready), usage: total }
}

/** For a target of one value divided by all replicas. */
export function sharedReplicas(
  total: number,
  target: number,
  of: { readonly statusReplicas: number; readonly tolerance: number },
): Proposal {
  const { statusReplicas, tolerance } = of
  const isNear = Math.abs(1 - total / (target * statusReplicas)) <= tolerance
  const replicas = statusReplicas > 0 && isNear ? statusReplicas : whole(total / target)
  return { replicas, usage: Math.ceil(total / Math.max(1, statusReplicas)) }
}
