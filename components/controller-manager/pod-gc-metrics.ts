/** The metrics of the pod garbage collector (upstream: pkg/controller/podgc/metrics). */
import type { Metrics } from '../component-base/metrics.ts'

export function declarePodGcMetrics(metrics: Metrics) {
  const labels = ['namespace', 'reason']
  return {
    deleted: metrics.counter({
      name: 'pod_gc_collector_force_delete_pods_total',
      help: 'Number of pods that are being forcefully deleted since the Pod GC Controller started.',
      labels,
    }),
    failed: metrics.counter({
      name: 'pod_gc_collector_force_delete_pod_errors_total',
      help: 'Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.',
      labels,
    }),
  }
}
