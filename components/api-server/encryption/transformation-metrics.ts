/** Metrics of encryption and decryption by resource and provider (upstream: apiserver pkg/storage/value/metrics.go). */
import type { Clock } from '../../component-base/clock.ts'
import { exponentialBuckets, type Metrics } from '../../component-base/metrics.ts'

export type Transformation = 'from_storage' | 'to_storage'

/** Watches the transformations of one resource. */
export interface TransformationObserver {
  /** To be handed to `ended`. */
  started(): number
  /** `provider` is the prefix of what is stored. `status` is OK, or the code of a KMS plugin's error. */
  ended(
    transformation: Transformation,
    of: { readonly provider: string; readonly status: string; readonly startedMs: number },
  ): void
}

/** Of a failure that no KMS plugin has reported. */
export const notOfPlugin = 'unknown-non-grpc'

export const unobserved: TransformationObserver = { started: () => 0, ended: () => {} }

/** `resource` as in `deployments.apps`. */
export type TransformationMetrics = (resource: string) => TransformationObserver

/** Upstream names the resource of the request; this one is that of the object, whoever asks. */
export function createTransformationMetrics(metrics: Metrics, clock: Clock): TransformationMetrics {
  const durations = metrics.histogram({
    name: 'apiserver_storage_transformation_duration_seconds',
    help: 'Latencies in seconds of value transformation operations.',
    labels: ['transformation_type', 'transformer_prefix'],
    buckets: exponentialBuckets(5e-6, 2, 25),
  })
  const operations = metrics.counter({
    name: 'apiserver_storage_transformation_operations_total',
    help: 'Transformations by resource, direction, provider and status: OK, or what kind of failure it was.',
    labels: ['resource', 'transformation_type', 'transformer_prefix', 'status'],
  })
  return (resource) => ({
    started: () => clock.elapsed(),
    ended: (transformation, { provider, status, startedMs }) => {
      operations.with(resource, transformation, provider, status).inc()
      if (status !== 'OK') return
      const seconds = (clock.elapsed() - startedMs) / 1000
      durations.with(transformation, provider).observe(seconds)
    },
  })
}
