/** The metrics that ReplicaSets and ReplicationControllers share (upstream: pkg/controller/replicaset/metrics). */
import type { Pod } from '../../api/generated/types.ts'
import { exponentialBuckets } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { isReady } from '../pod-state.ts'

export type ReplicaSetMetrics = ReturnType<typeof declareReplicaSetMetrics>

export function declareReplicaSetMetrics(metrics: Metrics) {
  return {
    deletionAgeRatio: metrics.histogram({
      name: 'replicaset_controller_sorting_deletion_age_ratio',
      help: "The ratio of chosen deleted pod's ages to the current youngest pod's age (at the time). Should be <2. The intent of this metric is to measure the rough efficacy of the LogarithmicScaleDown feature gate's effect on the sorting (and deletion) of pods when a replicaset scales down. This only considers Ready pods when calculating and reporting.",
      buckets: exponentialBuckets(0.25, 2, 6),
    }),
  }
}

/** How many times as old as the youngest ready pod each ready one of `chosen` is, rounded down; none while the youngest has no age. Pure. */
export function ageRatios(pods: readonly Pod[], chosen: readonly Pod[], nowMs: number): number[] {
  const ageMs = ({ metadata }: Pod): number => nowMs - Date.parse(metadata.creationTimestamp ?? '')
  const youngestMs = Math.min(...pods.filter(isReady).map(ageMs))
  if (!(youngestMs > 0)) return []
  return chosen.filter(isReady).map((pod) => Math.floor(ageMs(pod) / youngestMs))
}
