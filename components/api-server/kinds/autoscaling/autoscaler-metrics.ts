/** `spec.metrics` of HorizontalPodAutoscalers: one source per metric, with a target of the right form. */
import type { Dialect } from '../../../api/dialect.ts'
import type { MetricIdentifier, MetricSpec, MetricTarget } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { pathSegment } from '../../../machinery/validation/names.ts'
import { getOwn } from '../../../machinery/values/json-copy.ts'
import { validateLabel1123 } from '../rules/field-rules.ts'
import { validateRequiredSegment } from '../rules/object-references.ts'
import { compareAmounts, shownQuantity } from '../rules/quantities.ts'
import { validateContainerResourceName } from '../rules/resource-list.ts'

/** The reference of an autoscaler's target or of a described object. */
export function validateScaleReference(
  reference: { readonly kind?: string; readonly name?: string } | undefined,
  at: FieldPath,
): void {
  validateRequiredSegment(reference?.kind, at.child('kind'))
  validateRequiredSegment(reference?.name, at.child('name'))
}

function validateTarget(target: MetricTarget, at: FieldPath): void {
  const { type = '', averageUtilization } = target
  if (type === '') at.child('type').required('must specify a metric target type')
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    at.child('type').invalid(type, 'must be either Utilization, Value, or AverageValue')
  }
  for (const field of ['value', 'averageValue'] as const) {
    const amount = target[field]
    if (amount !== undefined && compareAmounts(amount, '0') <= 0) {
      at.child(field).invalid(shownQuantity(amount), 'must be positive')
    }
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    at.child('averageUtilization').invalid(averageUtilization, 'must be greater than 0')
  }
}

function validateIdentifier({ name }: MetricIdentifier, at: FieldPath): void {
  if (!name) at.child('name').required('must specify a metric name')
  else at.child('name').invalidEach(name, pathSegment(name))
}

/** Resources are measured against requests or absolutely, not both. */
function validateResourceTarget(target: MetricTarget, at: FieldPath): void {
  validateTarget(target, at)
  const { averageUtilization, averageValue } = target
  if (averageUtilization === undefined && averageValue === undefined) {
    at.child('averageUtilization').required(
      'must set either a target raw value or a target utilization',
    )
  }
  if (averageUtilization !== undefined && averageValue !== undefined) {
    at.child('averageValue').forbidden(
      'may not set both a target raw value and a target utilization',
    )
  }
}

type Source = Exclude<keyof MetricSpec, 'type'>

/** In the order in which upstream looks for them; only the first one given is checked. */
const sources: Readonly<
  Record<Source, (metric: MetricSpec, at: FieldPath, dialect: Dialect) => void>
> = {
  object({ object: source }, at) {
    if (!source) return
    const { describedObject, metric, target } = source
    validateScaleReference(describedObject, at.child('describedObject'))
    validateIdentifier(metric, at.child('metric'))
    validateTarget(target, at.child('target'))
    if (target.value === undefined && target.averageValue === undefined) {
      const why = 'must set either a target value or averageValue'
      at.child('target').child('averageValue').required(why)
    }
  },
  external({ external: source }, at) {
    if (!source) return
    const { metric, target } = source
    validateIdentifier(metric, at.child('metric'))
    validateTarget(target, at.child('target'))
    if (target.value === undefined && target.averageValue === undefined) {
      const why = 'must set either a target value for metric or a per-pod target'
      at.child('target').child('averageValue').required(why)
    }
    if (target.value !== undefined && target.averageValue !== undefined) {
      const why = 'may not set both a target value for metric and a per-pod target'
      at.child('target').child('value').forbidden(why)
    }
  },
  pods({ pods: source }, at) {
    if (!source) return
    validateIdentifier(source.metric, at.child('metric'))
    validateTarget(source.target, at.child('target'))
    if (source.target.averageValue === undefined) {
      const why = 'must specify a positive target averageValue'
      at.child('target').child('averageValue').required(why)
    }
  },
  resource({ resource: source }, at) {
    if (!source) return
    if (!source.name) at.child('name').required('must specify a resource name')
    validateResourceTarget(source.target, at.child('target'))
  },
  containerResource({ containerResource: source }, at, dialect) {
    if (!source) return
    if (!source.name) at.child('name').required('must specify a resource name')
    else validateContainerResourceName(source.name, at.child('name'), dialect)
    if (!source.container) at.child('container').required('must specify a container')
    else validateLabel1123(source.container, at.child('container'))
    validateResourceTarget(source.target, at.child('target'))
  },
}
const sourceNames = Object.keys(sources) as Source[]
const fieldOfType: Readonly<Record<string, Source>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
}
const types = Object.keys(fieldOfType)

function validateMetric(metric: MetricSpec, at: FieldPath, dialect: Dialect): void {
  const { type = '' } = metric
  const expected = getOwn(fieldOfType, type)
  const typeAt = at.child('type')
  if (type === '') typeAt.required('must specify a metric source type')
  if (expected === undefined) typeAt.unsupported(type, types)
  const given = sourceNames.filter((name) => metric[name])
  const first = given[0]
  if (first !== undefined) sources[first](metric, at.child(first), dialect)
  if (expected === undefined) typeAt.unsupported(type, types)
  else if (!metric[expected]) {
    at.child(expected).required('must populate information for the given metric source')
  }
  if (given.length === 1) return
  for (const other of given) {
    if (other !== expected) at.child(other).forbidden('must populate the given metric source only')
  }
}

/** All metrics; scaling to zero needs one that exists without pods. */
export function validateMetrics(
  {
    metrics,
    minReplicas,
    dialect,
  }: {
    metrics: readonly MetricSpec[]
    minReplicas: number | undefined
    dialect: Dialect
  },
  at: FieldPath,
): void {
  for (const [i, metric] of metrics.entries()) validateMetric(metric, at.index(i), dialect)
  if (minReplicas !== 0) return
  if (metrics.some(({ type }) => type === 'Object' || type === 'External')) return
  at.forbidden(
    'must specify at least one Object or External metric to support scaling to zero replicas',
  )
}
