/**
 * What each metric of an autoscaler asks for, and how its status shows it (upstream: horizontal.go computeReplicasForMetric,
 * computeStatusFor...).
 */
import type {
  CrossVersionObjectReference,
  LabelSelector,
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
  Pod,
} from '../../api/generated/types.ts'
import { messageOf } from '../../component-base/log.ts'
import type { LabelSelectorObject } from '../../machinery/selectors/label-selector.ts'
import { formatLabelSelector, labelSelectorFrom } from '../../machinery/selectors/label-selector.ts'
import { canonicalQuantity, quantityMilliValue } from '../../machinery/values/quantity.ts'
import type { Described, MetricsClient } from './metrics-client.ts'
import {
  averageReplicas,
  sharedReplicas,
  totalReplicas,
  utilizationReplicas,
} from './replica-calculator.ts'
import type { CalculatorSettings, Proposal } from './replica-calculator.ts'
import { SpecError } from './spec-error.ts'

/** The workload that is scaled, as its Scale and its pods show it. */
export interface ScaledWorkload {
  readonly namespace: string
  /** Of its pods, as a text. */
  readonly selector: string
  readonly specReplicas: number
  readonly statusReplicas: number
  /** In the caches when it is asked. */
  readonly pods: () => readonly Pod[]
}

interface MetricProposal {
  readonly replicas: number
  /** As reasons name the metric. */
  readonly name: string
  readonly status: MetricStatus
}

export interface MetricReader {
  readonly metrics: MetricsClient
  readonly settings: CalculatorSettings
  /** Resource and group of an object that a metric describes. */
  readonly describe: (of: CrossVersionObjectReference) => Promise<Described>
  readonly now: () => number
}

function milli(value: number): string {
  return canonicalQuantity(`${value}m`)
}

/** As the query has it; without a selector everything. Throws for an invalid one. */
function selectorText({ selector }: MetricIdentifier): string {
  return selector === undefined
    ? ''
    : formatLabelSelector(labelSelectorFrom(selector as LabelSelectorObject))
}

/** As Go prints the type. */
function printedSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'nil'
  const { matchLabels = {}, matchExpressions = [] } = selector
  const labels = Object.keys(matchLabels)
    .toSorted()
    .map((key) => `${key}: ${matchLabels[key]},`)
  const expressions = matchExpressions.map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  )
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`
}

function failing(prefix: string, error: unknown): Error {
  return new Error(`${prefix}: ${messageOf(error)}`, { cause: error })
}

async function prefixed<T>(prefix: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw failing(prefix, error)
  }
}

/** Usage of `cpu` or `memory`, of whole pods or of one container. */
async function resourceProposal(
  { metrics, settings, now }: MetricReader,
  workload: ScaledWorkload,
  of: { name: string; target: MetricTarget; container?: string },
): Promise<Proposal & { metric: string; current: MetricValueStatus }> {
  const { name, target, container } = of
  const { averageValue, averageUtilization } = target
  const measure = async () => {
    const only = container === undefined ? {} : { container }
    const found = await prefixed(`unable to get metrics for resource ${name}`, () =>
      metrics.resource(name, { ...workload, ...only }),
    )
    const currentReplicas = workload.specReplicas
    const about = { pods: workload.pods(), metrics: found, currentReplicas, resource: name }
    return { ...about, ...only, settings, nowMs: now() }
  }
  if (averageValue !== undefined) {
    const proposal = await prefixed(`failed to get ${name} usage`, async () =>
      averageReplicas(await measure(), quantityMilliValue(averageValue)),
    )
    const current = { averageValue: milli(proposal.usage) }
    return { ...proposal, metric: `${name} resource`, current }
  }
  if (averageUtilization === undefined) {
    throw new Error(
      'invalid resource metric source: neither an average utilization target nor an average value (usage) target was set',
    )
  }
  const proposal = await prefixed(`failed to get ${name} utilization`, async () =>
    utilizationReplicas(await measure(), averageUtilization),
  )
  const { utilization = 0, usage } = proposal
  return {
    ...proposal,
    metric: `${name} ${container === undefined ? '' : 'container '}resource utilization (percentage of request)`,
    current: { averageUtilization: utilization, averageValue: milli(usage) },
  }
}

async function podsProposal(
  { metrics, settings, now }: MetricReader,
  workload: ScaledWorkload,
  { metric, target }: NonNullable<MetricSpec['pods']>,
): Promise<MetricProposal> {
  const { name } = metric
  const metricSelector = selectorText(metric)
  const found = await prefixed(`unable to get metric ${name}`, () =>
    metrics.pods(name, { ...workload, metricSelector }),
  )
  const { replicas, usage } = averageReplicas(
    {
      pods: workload.pods(),
      metrics: found,
      currentReplicas: workload.specReplicas,
      settings,
      nowMs: now(),
    },
    quantityMilliValue(target.averageValue ?? '0'),
  )
  const status = { type: 'Pods', pods: { metric, current: { averageValue: milli(usage) } } }
  return { replicas, name: `pods metric ${name}`, status }
}

/** What a total, or its share of each replica, asks for. */
function ofTotal(
  total: number,
  target: MetricTarget,
  at: { workload: ScaledWorkload; tolerance: number },
): { replicas: number; current: MetricValueStatus } {
  const { workload, tolerance } = at
  const { specReplicas: currentReplicas, statusReplicas } = workload
  if (target.averageValue !== undefined) {
    const goal = quantityMilliValue(target.averageValue)
    const { replicas, usage } = sharedReplicas(total, goal, { statusReplicas, tolerance })
    return { replicas, current: { averageValue: milli(usage) } }
  }
  const goal = quantityMilliValue(target.value ?? '0')
  const pods = workload.pods()
  const { replicas, usage } = totalReplicas(total, goal, { pods, currentReplicas, tolerance })
  return { replicas, current: { value: milli(usage) } }
}

async function objectProposal(
  { metrics, settings, describe }: MetricReader,
  workload: ScaledWorkload,
  { metric, target, describedObject }: NonNullable<MetricSpec['object']>,
): Promise<MetricProposal> {
  const { namespace } = workload
  const { name } = metric
  const isTotal = target.type === 'Value'
  if (!isTotal && target.type !== 'AverageValue') {
    throw new Error(
      'invalid object metric source: neither a value target nor an average value target was set',
    )
  }
  const metricSelector = selectorText(metric)
  const read = async (): Promise<number> => {
    try {
      const described = await describe(describedObject)
      return await metrics.object(name, { namespace, described, metricSelector })
    } catch (error) {
      // Upstream's order of arguments: the cause stands where the object does.
      const { kind, name: object } = describedObject
      throw new Error(
        `unable to get metric ${name}: ${kind} on ${namespace} ${object}/${messageOf(error)}`,
        {
          cause: error,
        },
      )
    }
  }
  const total = isTotal ? await read() : await prefixed(`failed to get ${name} object metric`, read)
  const { replicas, current } = ofTotal(total, target, { workload, tolerance: settings.tolerance })
  return {
    replicas,
    name: isTotal
      ? `${describedObject.kind} metric ${name}`
      : `external metric ${name}(${printedSelector(metric.selector)})`,
    // Upstream leaves out the object of an average value until 1.33.
    status: { type: 'Object', object: { describedObject, metric, current } },
  }
}

async function externalProposal(
  { metrics, settings }: MetricReader,
  workload: ScaledWorkload,
  { metric, target }: NonNullable<MetricSpec['external']>,
): Promise<MetricProposal> {
  const { namespace } = workload
  const { name } = metric
  const { averageValue, value } = target
  if (averageValue === undefined && value === undefined) {
    throw new Error(
      'invalid external metric source: neither a value target nor an average value target was set',
    )
  }
  const printed = printedSelector(metric.selector)
  const prefix =
    averageValue === undefined
      ? `failed to get external metric ${name}`
      : `failed to get ${name} external metric`
  const { replicas, current } = await prefixed(prefix, async () => {
    const metricSelector = selectorText(metric)
    const total = await prefixed(
      `unable to get external metric ${namespace}/${name}/${printed}`,
      () => metrics.external(name, { namespace, metricSelector }),
    )
    return ofTotal(total, target, { workload, tolerance: settings.tolerance })
  })
  const status = { type: 'External', external: { metric, current } }
  return { replicas, name: `external metric ${name}(${printed})`, status }
}

/** Rejects when the metric cannot be read or is of no use; the message is upstream's. */
export async function proposalOf(
  reader: MetricReader,
  workload: ScaledWorkload,
  spec: MetricSpec,
): Promise<MetricProposal> {
  const { type, resource, containerResource, pods, object, external } = spec
  if (type === 'Resource' && resource !== undefined) {
    const { replicas, metric, current } = await resourceProposal(reader, workload, resource)
    const status = { type, resource: { name: resource.name, current } }
    return { replicas, name: metric, status }
  }
  if (type === 'ContainerResource' && containerResource !== undefined) {
    const { replicas, metric, current } = await resourceProposal(
      reader,
      workload,
      containerResource,
    )
    const { name, container } = containerResource
    return {
      replicas,
      name: metric,
      status: { type, containerResource: { name, container, current } },
    }
  }
  if (type === 'Pods' && pods !== undefined) return await podsProposal(reader, workload, pods)
  if (type === 'Object' && object !== undefined)
    return await objectProposal(reader, workload, object)
  if (type === 'External' && external !== undefined)
    return await externalProposal(reader, workload, external)
  throw new SpecError(`unknown metric source type "${type}"`)
}

/** The reason of a metric's event and condition, and how the error of all metrics names it. */
export function failureOf({ type, resource, containerResource, external }: MetricSpec): {
  readonly reason: string
  readonly prefix: string
} {
  const metric = 'metric value: '
  switch (type) {
    case 'Resource':
      return {
        reason: 'FailedGetResourceMetric',
        prefix: `failed to get ${resource?.name} resource ${metric}`,
      }
    case 'ContainerResource':
      return {
        reason: 'FailedGetContainerResourceMetric',
        prefix: `failed to get ${containerResource?.container} container ${metric}`,
      }
    case 'Pods':
      return { reason: 'FailedGetPodsMetric', prefix: `failed to get pods ${metric}` }
    case 'Object':
      return { reason: 'FailedGetObjectMetric', prefix: `failed to get object ${metric}` }
    case 'External':
      return {
        reason: 'FailedGetExternalMetric',
        prefix: `failed to get ${external?.metric.name} external ${metric}`,
      }
    default:
      return { reason: 'InvalidMetricSourceType', prefix: '' }
  }
}
