/** Reads the metrics of the three metrics APIs (upstream: podautoscaler/metrics/client.go, metrics clients of k8s.io/metrics). */
import { apiGroup } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import type { Client } from '../../client/client.ts'
import { messageOf } from '../../component-base/log.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { durationNanos } from '../../machinery/values/go-duration.ts'
import { quantityMilliValue } from '../../machinery/values/quantity.ts'
import type { PodMetric, PodMetrics } from './replica-calculator.ts'

/** An object that a metric describes. */
export interface Described {
  /** Plural and group, `ingresses.networking.k8s.io`. */
  readonly resource: string
  readonly name: string
}

/** Selectors are texts. All reject with upstream's words when the API cannot be asked or has nothing. */
export interface MetricsClient {
  /** Of pods, by name; of one container when given. */
  resource(
    name: string,
    at: { readonly namespace: string; readonly selector: string; readonly container?: string },
  ): Promise<PodMetrics>
  pods(
    metric: string,
    at: { readonly namespace: string; readonly selector: string; readonly metricSelector: string },
  ): Promise<PodMetrics>
  /** In thousandths. */
  object(
    metric: string,
    at: {
      readonly namespace: string
      readonly described: Described
      readonly metricSelector: string
    },
  ): Promise<number>
  /** The sum of all values, in thousandths. */
  external(
    metric: string,
    at: { readonly namespace: string; readonly metricSelector: string },
  ): Promise<number>
}

interface PodMetricsObject extends KubeObject {
  timestamp?: string
  window?: string
  containers?: readonly { name: string; usage: Readonly<Record<string, string>> }[]
}

interface MetricValue {
  describedObject: { name: string }
  timestamp?: string
  windowSeconds?: number
  value: string
}

/** Nearly the most that upstream's int64 holds: more cannot be written into a status. */
const mostMilli = 2 ** 63 - 1024

/** In thousandths, however absurd. */
function milliOf(value: string): number {
  return Math.max(-mostMilli, Math.min(mostMilli, quantityMilliValue(value)))
}

/** Of values that do not say how long they were measured. */
const defaultWindowMs = 60_000

function timeOf(text: string | undefined): number {
  const ms = Date.parse(text ?? '')
  if (Number.isNaN(ms)) throw new Error(`parsing time ${JSON.stringify(text ?? '')}`)
  return ms
}

/** Names the API in what it fails with. */
async function from<T>(api: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw new Error(`unable to fetch metrics from ${api} metrics API: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** What counts of a pod's usage; undefined when part of it is missing. */
function usageOf(
  { metadata, containers = [] }: PodMetricsObject,
  resource: string,
  container: string | undefined,
): number | undefined {
  if (container !== undefined) {
    const found = containers.find(({ name }) => name === container)
    if (found === undefined) {
      const pod = `${metadata.namespace}/${metadata.name}`
      throw new Error(`container ${container} not present in metrics for pod ${pod}`)
    }
    const value = found.usage[resource]
    return value === undefined ? undefined : milliOf(value)
  }
  let sum = 0
  for (const { usage } of containers) {
    const value = usage[resource]
    if (value === undefined) return undefined
    sum += milliOf(value)
  }
  return containers.length === 0 ? undefined : sum
}

function query(parameters: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== '') search.set(name, value)
  }
  return search.size === 0 ? '' : `?${search.toString()}`
}

/** Reads as `client`. `signal` ends its requests. */
export function createMetricsClient(
  client: Client,
  resources: Resources,
  signal: AbortSignal,
): MetricsClient {
  const podMetrics = client.resource<PodMetricsObject>(resources.podMetrics)
  return {
    resource: async (name, { namespace, selector, container }) => {
      const { items } = await from('resource', () =>
        podMetrics.list({ namespace, labelSelector: selector }, signal),
      )
      if (items.length === 0) throw new Error('no metrics returned from resource metrics API')
      const found = new Map<string, PodMetric>()
      for (const item of items) {
        const value = usageOf(item, name, container)
        if (value === undefined) continue
        const timestampMs = timeOf(item.timestamp)
        const windowMs = durationNanos(item.window ?? '0s') / 1e6
        found.set(item.metadata.name ?? '', { value, timestampMs, windowMs })
      }
      return found
    },
    ...valueReaders(client, signal),
  }
}

/** The APIs that adapters serve: single values, by plain requests. */
function valueReaders(client: Client, signal: AbortSignal): Omit<MetricsClient, 'resource'> {
  const custom = `/apis/${apiGroup(client.dialect, 'custom.metrics')}/v1beta2`
  const external = `/apis/${apiGroup(client.dialect, 'external.metrics')}/v1beta1`
  const values = async (path: string): Promise<readonly MetricValue[]> => {
    const list = (await client.rest.json({ method: 'GET', path, signal })) as
      { items?: readonly MetricValue[] } | undefined
    return list?.items ?? []
  }
  return {
    pods: async (metric, { namespace, selector, metricSelector }) => {
      const search = query({ labelSelector: selector, metricLabelSelector: metricSelector })
      const path = `${custom}/namespaces/${namespace}/pods/*/${encodeURIComponent(metric)}${search}`
      const items = await from('custom', () => values(path))
      if (items.length === 0) throw new Error('no metrics returned from custom metrics API')
      return new Map(
        items.map(({ describedObject, timestamp, windowSeconds, value }) => [
          describedObject.name,
          {
            value: milliOf(value),
            timestampMs: timeOf(timestamp),
            windowMs: windowSeconds === undefined ? defaultWindowMs : windowSeconds * 1000,
          },
        ]),
      )
    },
    object: async (metric, { namespace, described, metricSelector }) => {
      const { resource, name } = described
      const of =
        resource === 'namespaces'
          ? `namespaces/${encodeURIComponent(name)}/metrics`
          : `namespaces/${namespace}/${resource}/${encodeURIComponent(name)}`
      const search = query({ metricLabelSelector: metricSelector })
      const path = `${custom}/${of}/${encodeURIComponent(metric)}${search}`
      return await from('custom', async () => {
        const [only, ...more] = await values(path)
        if (only === undefined || more.length > 0) {
          const count = only === undefined ? 0 : more.length + 1
          throw new Error(
            `the custom metrics API server returned ${count} results when we asked for exactly one`,
          )
        }
        return milliOf(only.value)
      })
    },
    external: async (metric, { namespace, metricSelector }) => {
      const search = query({ labelSelector: metricSelector })
      const path = `${external}/namespaces/${namespace}/${encodeURIComponent(metric)}${search}`
      const items = await from('external', () => values(path))
      if (items.length === 0) throw new Error('no metrics returned from external metrics API')
      const sum = items.reduce((all, { value }) => all + milliOf(value), 0)
      return Math.min(mostMilli, sum)
    },
  }
}
