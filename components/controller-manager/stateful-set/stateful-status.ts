/** The status of a StatefulSet (upstream: stateful_set_control.go computeReplicaStatus, completeRollingUpdate). Pure. */
import type { Pod, StatefulSet, StatefulSetStatus } from '../../api/generated/types.ts'
import { nonZero } from '../non-zero.ts'
import { availableInMs } from '../pod-state.ts'
import { podRevision, replicasOf } from './identity.ts'
import { isRunningAndReady } from './plan.ts'

export interface RevisionState {
  readonly current: string
  readonly update: string
  readonly collisions: number
}

export function statefulStatus(
  set: StatefulSet,
  pods: readonly Pod[],
  at: { readonly revisions: RevisionState; readonly replaced: number; readonly nowMs: number },
): StatefulSetStatus {
  const { current, update, collisions } = at.revisions
  const { minReadySeconds = 0, updateStrategy } = set.spec ?? {}
  const count = (test: (pod: Pod) => boolean): number => pods.filter(test).length
  const isOf = (revision: string) => (pod: Pod) =>
    pod.metadata.deletionTimestamp === undefined && podRevision(pod) === revision
  const ready = count(isRunningAndReady)
  const updated = count(isOf(update))
  const desired = replicasOf(set)
  // A rollout with a partition is complete only once the partition is gone: until then some pods are not updated.
  const isComplete =
    updateStrategy?.type !== 'OnDelete' &&
    [updated, ready, pods.length].every((number) => number === desired)
  const { conditions } = set.status ?? {}
  return {
    ...nonZero({
      observedGeneration: set.metadata.generation ?? 0,
      readyReplicas: ready,
      currentReplicas: isComplete ? updated : Math.max(0, count(isOf(current)) - at.replaced),
      updatedReplicas: updated,
    }),
    replicas: pods.length,
    availableReplicas: count(
      (pod) => isRunningAndReady(pod) && availableInMs(pod, minReadySeconds, at.nowMs) === 0,
    ),
    currentRevision: isComplete ? update : current,
    updateRevision: update,
    collisionCount: collisions,
    ...(conditions === undefined ? {} : { conditions }),
  }
}
