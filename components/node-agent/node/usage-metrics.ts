/**
 * Usage metrics: `/metrics/resource` (upstream: pkg/kubelet/metrics/collectors/resource_metrics.go) and `/metrics/cadvisor`
 * (upstream: cAdvisor's metrics/prometheus.go), of which simulated containers have the parts about CPU and memory.
 */
import { servedRelease } from '../../api/lifecycle.ts'
import type { Metrics, Sample, Stability } from '../../component-base/metrics.ts'
import { createMetrics } from '../../component-base/metrics.ts'
import type { NodeUsage, Summed, UsedContainer, UsedPod } from './node-usage.ts'
import { podUsage } from './node-usage.ts'

/** Name, kind and help of a metric, and its value of one thing. */
type Metric<Of> = readonly [
  name: string,
  kind: 'counter' | 'gauge',
  help: string,
  read: (of: Of) => number | undefined,
]

const resourceOfNodes: readonly Metric<NodeUsage>[] = [
  [
    'node_cpu_usage_seconds_total',
    'counter',
    'Cumulative cpu time consumed by the node in core-seconds',
    ({ coreSeconds }) => coreSeconds,
  ],
  [
    'node_memory_working_set_bytes',
    'gauge',
    'Current working set of the node in bytes',
    ({ memoryBytes }) => memoryBytes,
  ],
  [
    'resource_scrape_error',
    'gauge',
    '1 if there was an error while getting container metrics, 0 otherwise',
    () => 0,
  ],
]

const resourceOfPods: readonly Metric<Summed>[] = [
  [
    'pod_cpu_usage_seconds_total',
    'counter',
    'Cumulative cpu time consumed by the pod in core-seconds',
    ({ coreSeconds }) => coreSeconds,
  ],
  [
    'pod_memory_working_set_bytes',
    'gauge',
    'Current working set of the pod in bytes',
    ({ memoryBytes }) => memoryBytes,
  ],
]

const resourceOfContainers: readonly Metric<UsedContainer>[] = [
  [
    'container_cpu_usage_seconds_total',
    'counter',
    'Cumulative cpu time consumed by the container in core-seconds',
    ({ usage }) => usage.coreSeconds,
  ],
  [
    'container_memory_working_set_bytes',
    'gauge',
    'Current working set of the container in bytes',
    ({ usage }) => usage.memoryBytes,
  ],
  [
    'container_start_time_seconds',
    'gauge',
    'Start time of the container since unix epoch in seconds',
    ({ usage }) => usage.startedMs / 1000,
  ],
]

const memoryOf = ({ usage }: UsedContainer): number => usage.memoryBytes

const cadvisorOfContainers: readonly Metric<UsedContainer>[] = [
  [
    'container_cpu_usage_seconds_total',
    'counter',
    'Cumulative cpu time consumed in seconds.',
    ({ usage }) => usage.coreSeconds,
  ],
  [
    'container_last_seen',
    'gauge',
    'Last time a container was seen by the exporter',
    ({ usage }) => Math.floor(usage.timeMs / 1000),
  ],
  ['container_memory_rss', 'gauge', 'Size of RSS in bytes.', memoryOf],
  [
    'container_memory_usage_bytes',
    'gauge',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    memoryOf,
  ],
  ['container_memory_working_set_bytes', 'gauge', 'Current working set in bytes.', memoryOf],
  [
    'container_start_time_seconds',
    'gauge',
    'Start time of the container since unix epoch in seconds.',
    ({ usage }) => Math.floor(usage.startedMs / 1000),
  ],
]

const cadvisorOfNodes: readonly Metric<NodeUsage>[] = [
  [
    'machine_cpu_cores',
    'gauge',
    'Number of logical CPU cores.',
    ({ coreCapacity }) => coreCapacity,
  ],
  [
    'machine_memory_bytes',
    'gauge',
    'Amount of memory installed on the machine.',
    ({ memoryCapacityBytes }) => memoryCapacityBytes,
  ],
]

/** A thing with metrics, and the values of its labels. */
type Labelled<Of> = { readonly of: Of; readonly labels: readonly string[] }

class UsageMetrics {
  readonly metrics = createMetrics({ release: servedRelease, showHidden: false })
  readonly #stability: Stability

  constructor(stability: Stability) {
    this.#stability = stability
  }

  add<Of>(
    metrics: readonly Metric<Of>[],
    things: readonly Labelled<Of>[],
    labels: readonly string[] = [],
  ): this {
    for (const [name, kind, help, read] of metrics) {
      const samples: Sample[] = things.flatMap(({ of, labels: values }) => {
        const value = read(of)
        return value === undefined ? [] : [{ labels: values, value }]
      })
      const options = { name, help, kind, labels, stability: this.#stability }
      this.metrics.observed(options, () => samples)
    }
    return this
  }
}

const labelsOfPod = ({ pod: { metadata } }: UsedPod): string[] => [
  metadata.namespace ?? '',
  metadata.name ?? '',
]

function labelled(
  { pods }: NodeUsage,
  labelsOf: (container: UsedContainer, used: UsedPod) => readonly string[],
): Labelled<UsedContainer>[] {
  return pods.flatMap((used) =>
    used.containers.map((of) => ({ of, labels: [...labelsOf(of, used), ...labelsOfPod(used)] })),
  )
}

/** `/metrics/resource`, which a metrics server reads. */
export function resourceMetrics(usage: NodeUsage): Metrics {
  const pods = usage.pods.map((used) => ({ of: podUsage(used), labels: labelsOfPod(used) }))
  const containers = labelled(usage, ({ name }) => [name])
  return new UsageMetrics('STABLE')
    .add(resourceOfNodes, [{ of: usage, labels: [] }])
    .add(resourceOfPods, pods, ['namespace', 'pod'])
    .add(resourceOfContainers, containers, ['container', 'namespace', 'pod']).metrics
}

/** `/metrics/cadvisor`. */
export function cadvisorMetrics(usage: NodeUsage): Metrics {
  const containers = labelled(usage, ({ name, id, image }, used) => {
    return [name, `/kubepods/pod${used.pod.metadata.uid}/${id}`, image, id]
  })
  return new UsageMetrics('ALPHA')
    .add(cadvisorOfNodes, [{ of: usage, labels: [] }])
    .add(cadvisorOfContainers, containers, ['container', 'id', 'image', 'name', 'namespace', 'pod'])
    .metrics
}
