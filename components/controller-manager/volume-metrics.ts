/**
 * The metrics of volumes (upstream: volume/persistentvolume/metrics, volume/attachdetach/metrics, pkg/volume/util/metrics.go).
 * Counts of objects are taken when the metrics are shown, from what the controllers tell.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../api/generated/types.ts'
import type { Metrics, Sample } from '../component-base/metrics.ts'

const operationBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600]

/** What the binder knows. */
export interface CountedVolumes {
  readonly volumes: () => readonly PersistentVolume[]
  readonly claims: () => readonly PersistentVolumeClaim[]
  readonly pluginOf: (volume: PersistentVolume) => string
}

/** What the attach-detach controller knows, by the labels of the metric. */
export interface CountedAttachments {
  /** By node and plugin. */
  readonly inUse: () => Iterable<readonly [node: string, plugin: string]>
  /** By plugin and state. */
  readonly attachments: () => Iterable<readonly [plugin: string, state: string]>
}

export type VolumeMetrics = ReturnType<typeof declareVolumeMetrics>

export function declareVolumeMetrics(metrics: Metrics) {
  return {
    ...declareOperations(metrics),
    countVolumes: declareVolumeCounts(metrics),
    countAttachments: declareAttachmentCounts(metrics),
  }
}

function declareOperations(metrics: Metrics) {
  return {
    operationSeconds: metrics.histogram({
      name: 'storage_operation_duration_seconds',
      help: 'Storage operation duration',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      buckets: operationBounds,
    }),
    wholeSeconds: metrics.histogram({
      name: 'volume_operation_total_seconds',
      help: 'Storage operation end to end duration in seconds',
      labels: ['plugin_name', 'operation_name'],
      buckets: operationBounds,
    }),
    operationErrors: metrics.counter({
      name: 'volume_operation_total_errors',
      help: 'Total volume operation errors',
      labels: ['plugin_name', 'operation_name'],
    }),
    defaultClasses: metrics.counter({
      name: 'retroactive_storageclass_total',
      help: 'Total number of retroactive StorageClass assignments to persistent volume claim',
    }),
    defaultClassErrors: metrics.counter({
      name: 'retroactive_storageclass_errors_total',
      help: 'Total number of failed retroactive StorageClass assignments to persistent volume claim',
    }),
  }
}

/** How often each list of labels occurs. */
function countsOf(labels: Iterable<readonly string[]>): Sample[] {
  const counts = new Map<string, { labels: readonly string[]; value: number }>()
  for (const one of labels) {
    const key = one.join('\u0000')
    const count = counts.get(key) ?? { labels: one, value: 0 }
    counts.set(key, count)
    count.value += 1
  }
  return [...counts.values()]
}

/** Declares the counts of volumes and claims; the result says what to count. */
function declareVolumeCounts(metrics: Metrics): (counted: CountedVolumes) => void {
  let counted: CountedVolumes = { volumes: () => [], claims: () => [], pluginOf: () => '' }
  const gauge = (
    name: string,
    options: { help: string; labels: readonly string[] },
    read: () => Iterable<readonly string[]>,
  ): void =>
    metrics.observed({ kind: 'gauge', name: `pv_collector_${name}`, ...options }, () =>
      countsOf(read()),
    )
  const volumes = (isBound: boolean) => () =>
    counted
      .volumes()
      .filter(({ status }) => (status?.phase === 'Bound') === isBound)
      .map(({ spec }) => [spec?.storageClassName ?? ''])
  const claims = (isBound: boolean) => () =>
    counted
      .claims()
      .filter(({ status }) => (status?.phase === 'Bound') === isBound)
      .map(({ metadata, spec }) => [
        metadata.namespace ?? '',
        spec?.storageClassName ?? '',
        spec?.volumeAttributesClassName ?? '',
      ])
  const ofClass = ['storage_class']
  const ofClaim = ['namespace', 'storage_class', 'volume_attributes_class']
  const help = (of: string, state: string): string =>
    `Gauge measuring number of ${of} currently ${state}`
  gauge(
    'total_pv_count',
    {
      help: 'Gauge measuring total number of persistent volumes',
      labels: ['plugin_name', 'volume_mode'],
    },
    () => counted.volumes().map((one) => [counted.pluginOf(one), one.spec?.volumeMode ?? '']),
  )
  gauge(
    'bound_pv_count',
    { help: help('persistent volume', 'bound'), labels: ofClass },
    volumes(true),
  )
  gauge(
    'unbound_pv_count',
    { help: help('persistent volume', 'unbound'), labels: ofClass },
    volumes(false),
  )
  gauge(
    'bound_pvc_count',
    { help: help('persistent volume claim', 'bound'), labels: ofClaim },
    claims(true),
  )
  gauge(
    'unbound_pvc_count',
    { help: help('persistent volume claim', 'unbound'), labels: ofClaim },
    claims(false),
  )
  return (given) => {
    counted = given
  }
}

/** Declares the counts of attachments; the result says what to count. */
function declareAttachmentCounts(metrics: Metrics): (counted: CountedAttachments) => void {
  let counted: CountedAttachments = { inUse: () => [], attachments: () => [] }
  metrics.observed(
    {
      kind: 'gauge',
      name: 'storage_count_attachable_volumes_in_use',
      help: 'Measure number of volumes in use',
      labels: ['node', 'volume_plugin'],
    },
    () => countsOf(counted.inUse()),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: 'attachdetach_controller_total_volumes',
      help: 'Number of volumes in A/D Controller',
      labels: ['plugin_name', 'state'],
    },
    () => countsOf(counted.attachments()),
  )
  return (given) => {
    counted = given
  }
}
