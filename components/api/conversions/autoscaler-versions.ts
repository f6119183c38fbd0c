/**
 * HorizontalPodAutoscaler v1 and v2. v1 knows one CPU target; the rest of v2 travels in annotations, which v1 clients
 * carry along unseen (upstream: pkg/apis/autoscaling/v1/conversion.go).
 */
import type {
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerCondition,
  MetricSpec,
  MetricStatus,
} from '../generated/types.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { capitalBehavior, flatMetric, nestedMetric, plainBehavior } from './autoscaler-metrics.ts'

// The keys are those of upstream in every dialect: the object itself does not say which one it is in.
const keyOf = (name: string) => `autoscaling.alpha.kubernetes.io/${name}`
const metricsKey = keyOf('metrics')
const currentMetricsKey = keyOf('current-metrics')
const conditionsKey = keyOf('conditions')
const behaviorKey = keyOf('behavior')
const keys = [metricsKey, currentMetricsKey, conditionsKey, behaviorKey]

interface Spec extends Record<string, unknown> {
  readonly metrics?: readonly MetricSpec[] | null
  readonly behavior?: HorizontalPodAutoscalerBehavior
}

interface Status extends Record<string, unknown> {
  readonly currentMetrics?: readonly MetricStatus[] | null
  readonly conditions?: readonly HorizontalPodAutoscalerCondition[] | null
}

/** The CPU utilization a metric asks for or reports. */
function cpuUtilization(metric: MetricSpec | MetricStatus): number | undefined {
  const { type, resource } = metric
  if (type !== 'Resource' || resource?.name !== 'cpu') return undefined
  const amounts = 'target' in resource ? resource.target : resource.current
  return amounts?.averageUtilization
}

/** An invalid annotation is undefined, as upstream drops it. */
function parseAnnotation(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    // Clients can write anything here. Invalid JSON counts as absent.
    return undefined
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function withAnnotations(object: KubeObject, annotations: Record<string, string>): KubeObject {
  const held = (object as Partial<KubeObject>).metadata
  if (held === undefined && Object.keys(annotations).length === 0) return object
  const { annotations: _, ...metadata } = held ?? {}
  return {
    ...object,
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
  }
}

/** Of an object that is less than whole, as field ownership knows them, metadata may be what is missing. */
function annotationsOf(object: Partial<KubeObject>): Readonly<Record<string, string>> {
  return object.metadata?.annotations ?? {}
}

/** The v1 form. What only v2 can say goes to annotations. */
export function autoscalerToV1(object: KubeObject): KubeObject {
  const { metrics, behavior, ...spec } = (object['spec'] ?? {}) as Spec
  const { currentMetrics, conditions, ...status } = (object['status'] ?? {}) as Status
  const annotations: Record<string, string> = { ...annotationsOf(object) }
  const note = (key: string, value: unknown) => {
    annotations[key] = JSON.stringify(value)
  }
  const others = (metrics ?? []).filter((metric) => cpuUtilization(metric) === undefined)
  if (others.length > 0) {
    note(
      metricsKey,
      others.map((metric) => flatMetric(metric, 'target')),
    )
  }
  if (currentMetrics?.length) {
    note(
      currentMetricsKey,
      currentMetrics.map((metric) => flatMetric(metric, 'current')),
    )
  }
  if (conditions?.length) note(conditionsKey, conditions)
  if (behavior) note(behaviorKey, capitalBehavior(behavior))
  const target = (metrics ?? []).map(cpuUtilization).find((value) => value !== undefined)
  const current = (currentMetrics ?? []).map(cpuUtilization).find((value) => value !== undefined)
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

function cpuMetric(part: 'target' | 'current', amounts: object): Record<string, unknown> {
  return { type: 'Resource', resource: { name: 'cpu', [part]: amounts } }
}

/** The v2 form; the annotations are used up. */
export function autoscalerFromV1(object: KubeObject): KubeObject {
  const { targetCPUUtilizationPercentage: target, ...spec } = (object['spec'] ?? {}) as Spec
  const { currentCPUUtilizationPercentage: current, ...status } = (object['status'] ?? {}) as Status
  const annotations = annotationsOf(object)
  const read = (key: string) => parseAnnotation(annotations[key])
  const metrics = listOf(read(metricsKey)).map((metric) => nestedMetric(metric, 'target'))
  if (typeof target === 'number') {
    metrics.push(cpuMetric('target', { type: 'Utilization', averageUtilization: target }))
  }
  // The annotation has more about the CPU than the single number beside it.
  const currentMetrics = listOf(read(currentMetricsKey)).map((metric) =>
    nestedMetric(metric, 'current'),
  )
  if (currentMetrics.length === 0 && typeof current === 'number') {
    currentMetrics.push(cpuMetric('current', { averageUtilization: current }))
  }
  const conditions = listOf(read(conditionsKey))
  const behavior = plainBehavior(read(behaviorKey))
  const others = Object.entries(annotations).filter(([key]) => !keys.includes(key))
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
        ...(conditions.length === 0 ? {} : { conditions }),
      },
    },
    Object.fromEntries(others),
  )
}

/** The v2 form of a v2beta1 autoscaler, whose metrics are flat like those in the annotations of v1. */
export function autoscalerFromV2beta1(object: KubeObject): KubeObject {
  const { metrics, ...spec } = (object['spec'] ?? {}) as Spec
  const { currentMetrics, ...status } = (object['status'] ?? {}) as Status
  const { [behaviorKey]: noted, ...annotations } = annotationsOf(object)
  const behavior = plainBehavior(parseAnnotation(noted))
  return withAnnotations(
    {
      ...object,
      spec: {
        ...spec,
        metrics: listOf(metrics).map((metric) => nestedMetric(metric, 'target')),
        ...(behavior === undefined ? {} : { behavior }),
      },
      status: {
        ...status,
        currentMetrics: listOf(currentMetrics).map((metric) => nestedMetric(metric, 'current')),
      },
    },
    annotations,
  )
}
