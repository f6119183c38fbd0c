/**
 * HorizontalPodAutoscaler v1 and v2. v1 knows one CPU target; the rest of v2 travels in annotations, which v1 clients
 * carry along unseen (upstream: pkg/apis/autoscaling/v1/conversion.go).
 */
import type { KubeObject } from '../../machinery/object.ts'

const metricsKey = 'autoscaling.alpha.kubernetes.io/metrics'
const conditionsKey = 'autoscaling.alpha.kubernetes.io/conditions'
const currentMetricsKey = 'autoscaling.alpha.kubernetes.io/current-metrics'
const behaviorKey = 'autoscaling.alpha.kubernetes.io/behavior'
const keys = [metricsKey, conditionsKey, currentMetricsKey, behaviorKey]

interface Metric {
  type: string
  resource?: {
    name: string
    target?: { type?: string; averageUtilization?: number; averageValue?: string }
    current?: { averageUtilization?: number; averageValue?: string }
  }
}

type Fields = Record<string, unknown>

function isCpuUtilization(metric: Metric): boolean {
  const { type, resource } = metric
  if (type !== 'Resource' || resource?.name !== 'cpu') return false
  return (resource.target ?? resource.current)?.averageUtilization !== undefined
}

function parseAnnotation(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    // An annotation that somebody spoiled is dropped, as upstream does.
    return undefined
  }
}

function withoutKeys(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !keys.includes(key)))
}

function withAnnotations(object: KubeObject, annotations: Record<string, string>): KubeObject {
  const { annotations: _, ...metadata } = object.metadata
  return {
    ...object,
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
  }
}

/** The CPU target, and the other metrics with their text for the annotation. */
function splitMetrics(metrics: readonly Metric[]): { cpu: Metric | undefined; others: Metric[] } {
  const cpu = metrics.find(isCpuUtilization)
  return { cpu, others: metrics.filter((metric) => metric !== cpu) }
}

export function autoscalerToV1(object: KubeObject): KubeObject {
  const {
    metrics = [],
    behavior,
    ...spec
  } = (object['spec'] ?? {}) as Fields & { metrics?: Metric[] }
  const {
    currentMetrics = [],
    conditions,
    ...status
  } = (object['status'] ?? {}) as Fields & {
    currentMetrics?: Metric[]
  }
  const annotations = { ...object.metadata.annotations }
  const { cpu, others } = splitMetrics(metrics ?? [])
  const { cpu: currentCpu, others: otherCurrents } = splitMetrics(currentMetrics ?? [])
  if (others.length > 0) annotations[metricsKey] = JSON.stringify(others)
  if (otherCurrents.length > 0) annotations[currentMetricsKey] = JSON.stringify(otherCurrents)
  if (Array.isArray(conditions)) annotations[conditionsKey] = JSON.stringify(conditions)
  if (behavior !== undefined) annotations[behaviorKey] = JSON.stringify(behavior)
  const target = cpu?.resource?.target?.averageUtilization
  const current = currentCpu?.resource?.current?.averageUtilization
  return withAnnotations(
    {
      ...object,
      spec: {
        ...spec,
        ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }),
      },
      status: {
        ...status,
        ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }),
      },
    },
    annotations,
  )
}

export function autoscalerFromV1(object: KubeObject): KubeObject {
  const { targetCPUUtilizationPercentage: target, ...spec } = (object['spec'] ?? {}) as Fields
  const { currentCPUUtilizationPercentage: current, ...status } = (object['status'] ?? {}) as Fields
  const annotations = object.metadata.annotations ?? {}
  const metrics = (parseAnnotation(annotations[metricsKey]) ?? []) as Metric[]
  const currentMetrics = (parseAnnotation(annotations[currentMetricsKey]) ?? []) as Metric[]
  const conditions = parseAnnotation(annotations[conditionsKey])
  const behavior = parseAnnotation(annotations[behaviorKey])
  if (typeof target === 'number') {
    metrics.push({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: target } },
    })
  }
  if (typeof current === 'number') {
    currentMetrics.push({
      type: 'Resource',
      resource: { name: 'cpu', current: { averageUtilization: current } },
    })
  }
  return withAnnotations(
    {
      ...object,
      spec: {
        ...spec,
        ...(metrics.length === 0 ? {} : { metrics }),
        ...(behavior === undefined ? {} : { behavior }),
      },
      status: {
        ...status,
        ...(currentMetrics.length === 0 ? {} : { currentMetrics }),
        ...(conditions === undefined ? {} : { conditions }),
      },
    },
    withoutKeys(annotations),
  )
}
