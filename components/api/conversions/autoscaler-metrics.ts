/** Metrics of HorizontalPodAutoscalers in the flat form that the annotations of version 1 hold (upstream: pkg/apis/autoscaling/v1/conversion.go). */
import type {
  HPAScalingRules,
  HorizontalPodAutoscalerBehavior,
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../generated/types.ts'

type Fields = Record<string, unknown>

/** Fields without a value are left out, as Go leaves empty ones out of JSON. */
function compact(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** The one source of a metric: its field and value. */
function sourceOf(metric: Fields): [string, Fields] | undefined {
  for (const [name, value] of Object.entries(metric)) {
    if (name !== 'type' && typeof value === 'object' && value !== null) {
      return [name, value as Fields]
    }
  }
  return undefined
}

interface Source {
  readonly metric?: MetricIdentifier
  readonly target?: MetricTarget
  readonly current?: MetricValueStatus
  readonly describedObject?: unknown
  readonly name?: string
  readonly container?: string
}

/** `targetValue` in a spec is `currentValue` in a status. */
function flat(name: string, source: Source, prefix: 'target' | 'current'): Fields {
  const { metric, describedObject, container } = source
  const amounts = (prefix === 'target' ? source.target : source.current) ?? {}
  const { value, averageValue, averageUtilization } = amounts
  switch (name) {
    case 'object':
      return compact({
        target: describedObject,
        metricName: metric?.name,
        [`${prefix}Value`]: value,
        selector: metric?.selector,
        averageValue,
      })
    case 'pods':
      return compact({
        metricName: metric?.name,
        [`${prefix}AverageValue`]: averageValue,
        selector: metric?.selector,
      })
    case 'external':
      return compact({
        metricName: metric?.name,
        metricSelector: metric?.selector,
        [`${prefix}Value`]: value,
        [`${prefix}AverageValue`]: averageValue,
      })
    default:
      return compact({
        name: source.name,
        [`${prefix}AverageUtilization`]: averageUtilization,
        [`${prefix}AverageValue`]: averageValue,
        container,
      })
  }
}

/** A metric of version 2, of a spec or a status, as version 1 writes it. */
export function flatMetric(metric: MetricSpec | MetricStatus, prefix: 'target' | 'current') {
  const [name, source] = sourceOf({ ...metric }) ?? []
  if (name === undefined || source === undefined) return { type: metric.type }
  return { type: metric.type, [name]: flat(name, source, prefix) }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A target of zero stands for an absent one, as upstream writes it; a measured zero is a value. */
function amountOf(value: unknown, prefix: 'target' | 'current'): string | undefined {
  const text = textOf(value)
  return text === '0' && prefix === 'target' ? undefined : text
}

function amountsOf(name: string, source: Fields, prefix: 'target' | 'current'): MetricValueStatus {
  const value = amountOf(source[`${prefix}Value`], prefix)
  const averageValue = amountOf(
    name === 'object' ? source['averageValue'] : source[`${prefix}AverageValue`],
    prefix,
  )
  const utilization = source[`${prefix}AverageUtilization`]
  return {
    ...(value === undefined ? {} : { value }),
    ...(averageValue === undefined ? {} : { averageValue }),
    ...(typeof utilization === 'number' ? { averageUtilization: utilization } : {}),
  }
}

function targetOf(amounts: MetricValueStatus): MetricTarget {
  if (amounts.averageUtilization !== undefined) return { type: 'Utilization', ...amounts }
  if (amounts.averageValue !== undefined) return { type: 'AverageValue', ...amounts }
  return { type: 'Value', ...amounts }
}

/** The version 2 form of a metric from an annotation. An invalid one becomes a metric without a source. */
export function nestedMetric(metric: unknown, prefix: 'target' | 'current'): Fields {
  const fields = typeof metric === 'object' && metric !== null ? (metric as Fields) : {}
  const type = textOf(fields['type']) ?? ''
  const [name, source] = sourceOf(fields) ?? []
  if (name === undefined || source === undefined) return { type }
  const selector = source[name === 'external' ? 'metricSelector' : 'selector']
  const amounts = amountsOf(name, source, prefix)
  const identified = compact({ name: textOf(source['metricName']) ?? '', selector })
  const isNamed = name === 'object' || name === 'pods' || name === 'external'
  return {
    type,
    [name]: compact({
      describedObject: name === 'object' ? source['target'] : undefined,
      metric: isNamed ? identified : undefined,
      name: isNamed ? undefined : source['name'],
      container: isNamed ? undefined : source['container'],
      [prefix]: prefix === 'target' ? targetOf(amounts) : amounts,
    }),
  }
}

/** Upstream writes the behavior from a Go struct without JSON names. */
function capitalRules(rules: HPAScalingRules | undefined): Fields | null {
  if (rules === undefined) return null
  const { stabilizationWindowSeconds = null, selectPolicy = null, policies } = rules
  return {
    StabilizationWindowSeconds: stabilizationWindowSeconds,
    SelectPolicy: selectPolicy,
    Policies:
      policies?.map(({ type, value, periodSeconds }) => ({
        Type: type,
        Value: value,
        PeriodSeconds: periodSeconds,
      })) ?? null,
  }
}

export function capitalBehavior({ scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior): Fields {
  return { ScaleUp: capitalRules(scaleUp), ScaleDown: capitalRules(scaleDown) }
}

/** Go reads field names without regard to case; so does this. */
export function plainBehavior(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainBehavior)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [
        name.charAt(0).toLowerCase() + name.slice(1),
        plainBehavior(member),
      ]),
  )
}
